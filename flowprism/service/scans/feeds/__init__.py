"""What a scan says of feeds: gaps, and samples that a collector left out."""
