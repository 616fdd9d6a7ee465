"""Facts about the graph: what was recorded, cut, freed or written over."""
