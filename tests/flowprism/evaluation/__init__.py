"""Tests of flowprism/evaluation."""
