"""Simulating cases, and scoring the analysis on them."""
