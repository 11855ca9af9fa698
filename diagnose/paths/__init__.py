"""Loads of cables between switches by phase, collisions, and the placement that removes them."""
