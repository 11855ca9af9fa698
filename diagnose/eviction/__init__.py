"""Whether a slow host should leave its job, when, and which idle one can take its place."""
