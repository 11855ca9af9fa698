"""Flow records -> streams of connections between endpoints."""
