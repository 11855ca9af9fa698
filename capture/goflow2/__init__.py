"""GoFlow2's protobuf output: delimited dumps and single messages to flow records."""
