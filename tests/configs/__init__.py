"""Judged problems: configurations with a mistake, what an audit must find, and the right configuration."""
