"""Queries of incidents, and whether evicting the host at fault is worth it."""
