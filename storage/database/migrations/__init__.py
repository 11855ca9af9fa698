"""Alembic's folder: the environment, and the steps from version to version."""
