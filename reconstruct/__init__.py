"""Flow records -> streams -> jobs -> iterations, and transfers + layout -> timelines."""
