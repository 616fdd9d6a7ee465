"""What watches a run, and what it notes."""
