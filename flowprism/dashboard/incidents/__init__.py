"""Pages of incidents."""
