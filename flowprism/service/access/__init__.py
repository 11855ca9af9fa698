"""Access control: who may do what, proxy headers, rate limits, and the audit log."""
