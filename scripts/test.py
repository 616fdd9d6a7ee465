"""Runs the tests: makes a virtual environment, installs the project and what the tests need, runs pytest."""

import os
import sys

from environment import ready, run

if __name__ == "__main__":
    python = ready(".venv-test", "test")
    workers = str(min(4, os.cpu_count() or 1))
    sys.exit(run(python, "-m", "pytest", "-q", "-n", workers, *sys.argv[1:]))
