"""Records of flow caches that are fed with sampled packets: exact times, and volumes known but for chance."""
