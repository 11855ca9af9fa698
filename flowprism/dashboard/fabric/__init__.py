"""The page of switches, cables and paths."""
