"""Tests of the feed plan."""
