"""Queries of jobs: their state, iterations, timelines, events and training time."""
