"""What keeps a replay from touching anything: the sandboxed child and what it does to itself."""
