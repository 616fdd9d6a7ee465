"""The doors for live exceptions: the process's hooks, IPython, pytest, logging, child processes."""
