"""What feeds deliver: flow records, exporters' counters, recordings of profilers, and what was lost on the way."""
