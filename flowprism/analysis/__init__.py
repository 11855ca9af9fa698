"""Steps that the pipeline wires: one job from streams to its report, jobs joined and selected, accounts, verdicts."""
