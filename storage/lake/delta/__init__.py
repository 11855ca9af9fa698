"""Delta Lake logs next to the segments, for engines other than ours."""
