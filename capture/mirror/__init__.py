"""Packets of a mirror to flow records: connections, sequence numbers, acknowledgements."""
