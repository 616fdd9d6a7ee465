"""The page of `explain serve`, and the tools of `explain mcp`: what other programs on this machine ask us."""
