"""Recordings of ranks' profilers."""
