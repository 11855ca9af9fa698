"""What the service keeps and answers: incidents, alerts, rows of its database, and the documents of its API."""
