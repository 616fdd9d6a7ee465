"""What is looked at in a training step or an evaluation: a file a question, each registered with `calls.looks`."""
