"""Named scenarios: fabrics, jobs, faults and feeds put together."""
