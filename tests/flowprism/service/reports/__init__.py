"""Reports that are sent by themselves."""
