"""Parts of the service, each a process of its own: collector, keeper, scanner, alerter, API."""
