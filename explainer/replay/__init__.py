"""All that executes anything: the sandboxed child, the window of statements, the recorders, the trial of an edit."""
