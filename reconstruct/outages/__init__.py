"""Outages: what was sent while a collector or an exporter was away, put back where streams show how much it was."""
