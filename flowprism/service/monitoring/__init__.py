"""Health checks and Prometheus metrics of the service."""
