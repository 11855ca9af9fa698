"""The workers that share the exporters, and how their number changes."""
