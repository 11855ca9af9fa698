"""The wire formats: their sizes and numbers, headers of datagrams, exporters' uptime, and why something is left out."""
