"""The same from sampled packets."""
