"""The kinds of edit that a rule may name (see `candidates.KINDS`)."""
