"""What goes wrong in training without any error: watched while it runs, tried again in the sandbox, told as a diagnosis."""
