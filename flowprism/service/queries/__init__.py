"""Queries of the results, restricted to the viewer's rights, for API and dashboard: one folder a subject."""
