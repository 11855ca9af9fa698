"""Export datagrams as they arrive: sockets, and the ring in which datagrams wait until what they held is durable."""
