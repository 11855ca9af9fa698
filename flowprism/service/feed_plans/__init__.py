"""Plans feeds for API and dashboard: measures in a process of its own, with goals from what the service has seen."""
