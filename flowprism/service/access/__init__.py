"""Access control: passwords, sessions, tokens, proxy headers, rate limits, and the audit log."""
