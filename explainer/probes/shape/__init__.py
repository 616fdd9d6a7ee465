"""Facts about sizes, views and indices."""
