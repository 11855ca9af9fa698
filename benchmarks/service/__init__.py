"""How fast the service stores, finds and answers, and how much memory it takes."""
