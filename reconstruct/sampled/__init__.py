"""Jobs, period, iterations and transfers from feeds that show packets or slices of time instead of messages."""
