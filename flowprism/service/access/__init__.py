"""Who may see and do what: passwords, sessions, tokens, a proxy's word, limits, and a log of every change."""
