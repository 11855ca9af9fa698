"""Asking a Prometheus what the hosts of an incident export."""
