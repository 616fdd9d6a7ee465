"""The space of repairs: atoms at the places of a crash's slice, sieved before any trial; what survivors show."""
