"""What a job's messages show of its groups: who exchanges how much with whom, when, and how often at once."""
