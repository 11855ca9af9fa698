"""Commands that evict a host, and those that take it back, for the orchestrators that run jobs."""
