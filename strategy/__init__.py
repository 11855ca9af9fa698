"""Transfers of one job -> layout and process groups."""
