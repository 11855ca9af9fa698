"""Components of the service, each a process of its own: collector, compactor, scanner, alerter, API."""
