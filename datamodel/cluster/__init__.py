"""The cluster that is known beforehand: its inventory, and where each endpoint of a job sits in it."""
