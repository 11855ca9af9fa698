"""Coverage-guided fuzzing of every decoder: `python -m tests.fuzz TARGET --minutes 20` (needs atheris)."""
