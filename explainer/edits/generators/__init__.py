"""The generators of the search, one file a mechanism, and what drives them."""
