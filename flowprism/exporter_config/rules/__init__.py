"""Rules: each takes devices and yields findings."""
