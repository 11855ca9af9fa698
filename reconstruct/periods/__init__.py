"""Cycles of one stream."""
