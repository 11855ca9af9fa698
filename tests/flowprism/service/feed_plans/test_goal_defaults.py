"""Goals take what the service has seen."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from datamodel.service.result_rows import FeedStatistics
from flowprism.feed_plan.goal import FeedGoal
from flowprism.service.config.settings import Settings
from flowprism.service.feed_plans.goal_defaults import goal_defaults, present_feed
from flowprism.service.stores import Stores
from storage.database.connection import Database
from storage.database.feed_statistics import save_feed_statistics
from tests.flowprism.feed_plan.sample import fabric
from tests.flowprism.service.api.client import ADMIN

MINUTE_NS = 60 * 10**9


def test_an_empty_service_has_the_usual_goal(tmp_path: Path) -> None:
    """Nothing is taken from anywhere; only what is set."""
    settings = Settings.model_validate({"store": {"keep": {"flows": {"age_h": 12, "size_gib": 100}}}})
    stores = Stores(Database(f"sqlite:///{tmp_path}/results.sqlite"), settings=settings)
    found = goal_defaults(stores, ADMIN, fabric(2, 4), time.time_ns())
    assert found.goal == replace(FeedGoal(), keep_h=12, disk_gib=100)
    assert set(found.sources) == {"keep_h", "disk_gib"}
    assert present_feed(stores, time.time_ns()) is None
    save_feed_statistics(stores.database, [FeedStatistics("10.0.0.1/3", 0, MINUTE_NS, 5, 600)])
    present = present_feed(stores, MINUTE_NS)
    assert present is not None
    assert (present.exporters, present.records_per_s) == (1, 10)
    stores.database.close()
