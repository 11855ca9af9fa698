"""The only access to the results database, SQLite on one host or PostgreSQL; no other package writes SQL."""
