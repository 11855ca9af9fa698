"""Actions on simulated cases: make them, analyze them, mark what was found."""
