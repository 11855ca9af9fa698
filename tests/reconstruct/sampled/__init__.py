"""Tests of reconstruct.sampled."""
