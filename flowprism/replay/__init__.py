"""Export datagrams of a capture, sent again to a collector."""
