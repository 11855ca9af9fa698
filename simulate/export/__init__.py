"""Export datagrams of a simulated fabric's switches: sFlow, IPFIX, NetFlow v9 and v5."""
