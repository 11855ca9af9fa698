"""Plans a feed before a packet is collected: rates, observation points, windows, what they cost and what they show."""
