"""Tests of what goes on between scans."""
