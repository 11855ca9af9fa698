"""Drills on a small training cluster of network namespaces: recorded, then judged."""
