"""Breaks small models and explains each: makes a virtual environment, installs the project, runs `explain demo`."""

import sys

from environment import ready, run

if __name__ == "__main__":
    python = ready(".venv", "torch")
    sys.exit(run(python, "-m", "explainer", "demo", *sys.argv[1:]))
