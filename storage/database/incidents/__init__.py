"""Incidents in the results database: their history and notes, answers of hosts, and the outbox of alerts."""
