"""Profiles of suspects: plans to record them, and folders of recordings that become verdicts."""
