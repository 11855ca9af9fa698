"""The option `--feed`: which flow records a scenario has, and which feeds its switches export."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

from datamodel.errors import InputError
from simulate.export.feed_spec import FeedSpec, parse_feed
from simulate.scenarios.scenario import Scenario, Telemetry

RECORDS: tuple[Telemetry, ...] = get_args(Telemetry)
MIRROR_GATHERED = 256  # rows of 64 MiB instead of 256 KiB


def add_feeds(scenario: Scenario, kinds: tuple[str, ...]) -> Scenario:
    """The scenario with the requested feeds.

    `mirror` and `exact` say what the flow records are. `KIND[:RATE]` is what switches export; a feed of a kind that
    the scenario has itself keeps what is wrong with it and gets the rate. Without any, the scenario is as it was.

    Raises:
        InputError: a kind cannot be read, or is a duplicate.
    """
    records = [text for text in kinds if text in RECORDS]
    if len(records) > 1:
        raise InputError(f"--feed {records[1]}: the flow records are {records[0]} already")
    found: list[FeedSpec] = []
    for kind, rate in (parse_feed(text) for text in kinds if text not in RECORDS):
        if any(feed.kind == kind for feed in found):
            raise InputError(f"--feed {kind}: is a duplicate")
        own = next((feed for feed in scenario.feeds if feed.kind == kind), FeedSpec(kind))
        found.append(replace(own, rate=rate))
    made = replace(scenario, feeds=tuple(found)) if found else scenario
    if not records:
        return made
    gathered = MIRROR_GATHERED if records[0] == "mirror" else 1
    return replace(made, telemetry=records[0], gathered=gathered)
