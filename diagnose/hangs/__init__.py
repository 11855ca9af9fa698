"""Which endpoint stopped first."""
