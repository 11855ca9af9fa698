"""The one gate to the results database: SQLite on one machine, PostgreSQL for several; nobody else writes SQL."""
