"""The suite's cases: families of seeded scenarios, drawn from declared kinds of training, faults and quiet."""
