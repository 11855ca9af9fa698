"""Jobs in the results database: pages of them, and counts over all."""
