"""Queries of the fabric: switches, cables, paths, and hosts that are late in job after job."""
