"""Plans of paths against simulated truth."""
