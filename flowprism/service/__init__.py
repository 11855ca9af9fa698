"""What goes on between scans: incidents, schedules, alerts, the HTTP API."""
