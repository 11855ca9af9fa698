"""Training programs that explain the traffic: groups, pipelines and grids."""
