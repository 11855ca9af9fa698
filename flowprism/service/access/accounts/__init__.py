"""Accounts as the database keeps them: users, passwords, log-ins, tokens, and their API documents."""
