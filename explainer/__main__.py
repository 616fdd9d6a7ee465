"""`python -m explainer`: the same as the command `explain`."""

import sys

from explainer.cli import main

if __name__ == "__main__":
    sys.exit(main())
