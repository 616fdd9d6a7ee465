"""Facts about what is saved and loaded."""
