"""A soak: the whole service under a feed whose faults come and go, while what it stands on is stopped and killed."""
