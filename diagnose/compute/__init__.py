"""Which rank or stage computes late."""
