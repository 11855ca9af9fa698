"""What runs on a cluster besides training: serving of models, and what reads and writes storage."""
