"""Data records: from the bytes to a matrix, and from there to rows of `FLOWS` with times and sampling rates."""
