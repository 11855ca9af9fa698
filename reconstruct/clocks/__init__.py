"""Exporter clocks and send times."""
