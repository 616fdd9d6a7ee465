"""Small real models, each broken in one way, for `explain demo`. They are run as programs, never imported."""
