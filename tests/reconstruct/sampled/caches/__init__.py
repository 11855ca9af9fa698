"""Records of flow caches that are fed with sampled packets."""
