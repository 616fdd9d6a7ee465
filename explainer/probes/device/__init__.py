"""Facts about devices: what lies where, and what moved it."""
