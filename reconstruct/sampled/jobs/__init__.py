"""Progress curves -> jobs and their iteration ends."""
