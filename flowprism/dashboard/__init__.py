"""The operator's pages, over the same answers as the HTTP API."""
