"""Findings of consecutive scans -> incidents."""
