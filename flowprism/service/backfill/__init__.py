"""Past windows analysed again with today's code, and compared with what was kept of them then."""
