"""Iterations -> transfers, operations and spans of each endpoint."""
