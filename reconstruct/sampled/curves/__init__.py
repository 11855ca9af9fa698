"""Sampled packets -> progress curves of connections."""
