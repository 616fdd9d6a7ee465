"""A search by intervention: where a training is in doubt, small edits of it are tried, whatever the fault may be."""
