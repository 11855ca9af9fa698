"""NetFlow v5, NetFlow v9 and IPFIX: export datagrams to flow records."""
