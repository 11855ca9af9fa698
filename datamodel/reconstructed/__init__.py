"""Tables made from flow records: connections, paths, transfers, operations, timelines and patterns."""
