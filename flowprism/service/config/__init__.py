"""Settings of the service, their file, and its log."""
