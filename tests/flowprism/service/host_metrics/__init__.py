"""Asking a Prometheus what hosts export."""
