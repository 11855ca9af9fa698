"""Mirrored packets as they arrive: from an interface, from ERSPAN sessions that end here, from a pipe."""
