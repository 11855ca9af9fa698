"""Flow records from Kafka topics that collectors write to, with the offsets that they cover."""
