"""Scores programs that crash by what is known of them: the lines that are right, and how the repaired program ends."""
