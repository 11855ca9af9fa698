"""The page Feeds -> Plan, from an empty service to exporter files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from flowprism.dashboard.feeds.plan_form import PlanWanted
from flowprism.service.feed_plans.feed_planner import FeedPlanner
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer
from storage.database.connection import Database
from storage.database.feed_statistics import save_inventory
from tests.flowprism.feed_plan.sample import InstantPlanner, fabric, measured
from tests.flowprism.service.api.client import ADMIN, Client, client

PAGE = "/feeds/plan"


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[Stores]:
    """A store of nothing."""
    stores = Stores(Database(f"sqlite:///{tmp_path}/results.sqlite"))
    yield stores
    stores.database.close()


def planning(stores: Stores, planner: FeedPlanner, viewer: Viewer = ADMIN) -> Client:
    """A viewer of pages with this planner."""
    asking = client(stores, viewer)
    asking.app.state.planner = planner
    return asking


def test_form_leads_from_no_inventory_to_a_plan(stores: Stores) -> None:
    """Each state says what to do next; the form's fields come back in the address."""
    asking = planning(stores, FeedPlanner(measured))
    assert "There is no inventory" in asking.get(PAGE).text
    save_inventory(stores.database, fabric(2, 8), "tests", 1)
    page = asking.get(PAGE).text
    assert "No plan for this goal yet" in page
    assert 'name="slowdown_percent" type="number" step="any" min="0" inputmode="decimal" value="5"' in page
    sent = asking.post(PAGE, data={"slowdown_percent": "7.5", "minutes": "20", "cores": "", "members": "8"})
    assert (sent.status_code, sent.headers["location"]) == (303, f"{PAGE}?slowdown_percent=7.5&minutes=20&members=8")
    assert "role operator" in planning(stores, FeedPlanner(measured), Viewer("v", "viewer", None)).get(PAGE).text


def test_plan_shows_neighbors_unreachable_goals_and_files(stores: Stores) -> None:
    """The cheapest plan, what the next ones gain or lose, each goal out of reach, and each switch's file."""
    save_inventory(stores.database, fabric(2, 8), "tests", 1)
    asking = planning(stores, InstantPlanner())
    page = asking.get(PAGE).text
    assert '1 in 131,072 on 800 Gb/s ports,</span> <span class="nowrap">1 in 65,536 on 400 Gb/s ports' in page
    assert "no longer names stragglers, shows slowdowns from 20.0%" in page
    assert "Not reachable: a slowdown of 2.0%" in asking.get(f"{PAGE}?slowdown_percent=2").text
    files = asking.get(f"{PAGE}?collector=10.0.0.5&leaves=arista-eos").text
    assert "sflow destination 10.0.0.5" in files
    assert "Download 3 files" in files
    assert "No files: the collector is no IP address" in asking.get(f"{PAGE}?collector=x&leaves=arista-eos").text


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("members=1000", "NICs that share gradients"),
        ("busy_percent=0", "NICs send at full rate"),
        ("leaves=ios&collector=x", "ios"),
    ],
)
def test_values_out_of_bounds_are_named_as_the_form_does(stores: Stores, query: str, said: str) -> None:
    """400, and the field's label."""
    answer = planning(stores, FeedPlanner(measured)).get(f"{PAGE}?{query}")
    assert answer.status_code == 400
    assert said in answer.text


def test_fields_in_percent_are_ratios_of_the_goal() -> None:
    """7 % slower is a ratio of 1.07, and not 1.0700000000000001."""
    asked = PlanWanted(slowdown_percent=7, busy_percent=14).goal
    assert (asked.slowdown_ratio, asked.busy_ratio) == (1.07, 0.14)
