"""Streams -> jobs and their iteration boundaries."""
