"""What several diagnoses measure of a job's streams."""
