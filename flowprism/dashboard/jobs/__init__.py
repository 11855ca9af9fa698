"""Pages of one job: iterations, layout, members, matrix, timeline."""
