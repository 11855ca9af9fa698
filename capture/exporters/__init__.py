"""Export datagrams, the exporters that send them, and their counters."""
