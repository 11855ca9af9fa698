"""Steps of ring collectives, from sampled packets."""
