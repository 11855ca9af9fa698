"""Bytes of a frame to packet columns: Ethernet, IP, TCP, UDP, RoCEv2, through tunnels."""
