"""Where a job's time went: productive, slowed, paused, down, repeated or unknown."""
