"""Plans: of feeds and of paths."""
