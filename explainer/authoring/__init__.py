"""For people who write rules: the scaffold, the checker, the pages and the schema."""
