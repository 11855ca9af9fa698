"""What jobs of reinforcement learning do between their steps, by the scans that are kept."""

from __future__ import annotations

from datamodel.reconstructed.traffic import PostTraining
from flowprism.service.stores import Stores
from storage.database.scans.scan_records import scans_around

_SCANS = 8  # are searched for the job: policies analyze different jobs


def post_training(stores: Stores, name: str, time_ns: int) -> PostTraining | None:
    """Synchronizations and rollout gap of a job in the first scan that saw it and whose window holds a time.

    None where that scan shows none, or no such scan is kept.

    Raises:
        StorageError: the database cannot be reached.
    """
    jobs = (job for one in scans_around(stores.database, time_ns, _SCANS) for job in one.scan.jobs)
    return next((job.post_training for job in jobs if job.id == name), None)
