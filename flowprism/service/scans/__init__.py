"""Scans of windows of the lake, one after the other: which are due, who makes them, what they leave."""
