"""Queries of the feeds: exporters, and what their traffic is for."""
