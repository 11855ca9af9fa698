"""What a job's messages show of its groups: which endpoints exchange how much, when, and how often at once."""
