"""Profiles of a job's ranks -> where each moment went, compared with ranks of the same role."""
