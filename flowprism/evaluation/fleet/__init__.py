"""Repeat offenders of a simulated fleet against truth."""
