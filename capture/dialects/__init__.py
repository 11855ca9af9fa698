"""Column names and time formats of other collectors: nfdump and pmacct."""
