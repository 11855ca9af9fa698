"""Families on traffic of all kinds: its classes, and where it enters the fabric."""
