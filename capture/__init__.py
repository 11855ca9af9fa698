"""Bytes to wire structures (no opinion), then wire to flow records: packet mirrors and flow-record files."""
