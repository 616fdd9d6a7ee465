"""What goes wrong in training without an error: watched while it runs, tried in the sandbox, told as a diagnosis."""
