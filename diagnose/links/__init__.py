"""Which link is slow, and why."""
