"""What the timeline page shows of a job's spans: each endpoint's share, waits, the critical path, the wire form."""
