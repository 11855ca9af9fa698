"""Series that hosts export -> why a suspect is slow, and which GPU."""
