"""Alerts on changed incidents: routes, a durable outbox, and senders."""
