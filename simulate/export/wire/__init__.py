"""Bytes of what exporters send: packet headers, sFlow, NetFlow and IPFIX datagrams, pcap files."""
