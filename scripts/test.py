"""Runs the tests: makes a virtual environment, installs the project and what the tests need, runs pytest."""

import os
import sys

from environment import ready, run

if __name__ == "__main__":
    python = ready(".venv-test", "test")
    workers = str(min(4, os.cpu_count() or 1))
    # Each worker begins with whole files, so that what a file's tests share is made once.
    sys.exit(run(python, "-m", "pytest", "-q", "-n", workers, "--dist", "worksteal", *sys.argv[1:]))
