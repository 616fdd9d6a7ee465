"""Facts about dtypes: where one came in, what was converted."""
