"""Who left a job and who joined it, in which place, and what the change cost."""
