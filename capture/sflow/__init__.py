"""sFlow version 5: datagrams of sampled packets, counters and drop notifications to flow records and tables."""
