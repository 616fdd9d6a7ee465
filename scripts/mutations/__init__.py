"""Ways to break a healthy program on purpose; each knows the line that it broke."""
