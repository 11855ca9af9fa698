"""Actions that plan: feeds, exporter settings, and paths through the fabric."""
