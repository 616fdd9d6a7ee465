"""Facts about values that are not finite, and about memory."""
