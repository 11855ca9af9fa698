"""Trainings, fabrics and faults with exact truth: operations on shared links give bursts, and those flow records."""
