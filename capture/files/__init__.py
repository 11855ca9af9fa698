"""Capture files and their containers: pcap, pcapng, compression, IP fragments."""
