"""Timelines -> findings with evidence."""
