"""Templates: their fields, what is announced, the programs that load by them, and sets that wait for one."""
