"""Rules of strategy/ and diagnose/ broken on purpose: the suite must notice. `python -m benchmarks.mutations`."""
