import pytest

from datamodel.errors import InputError
from simulate.export.feed_spec import FeedSpec
from simulate.scenarios.base_job import ScenarioOptions
from simulate.scenarios.catalogue import scenario
from simulate.scenarios.feed_options import MIRROR_GATHERED, add_feeds

PLAIN = scenario("twin-healthy", ScenarioOptions(iterations=2))


def test_a_scenario_without_wishes_is_as_it_was() -> None:
    """No wish, no change."""
    assert add_feeds(PLAIN, ()) == PLAIN


def test_flow_records_and_feeds_are_wished_for_together() -> None:
    """`exact` changes the flow records, `KIND:RATE` adds a feed; without a rate every packet is seen."""
    made = add_feeds(PLAIN, ("exact", "sflow:4096", "ipfix"))
    assert (PLAIN.telemetry, made.telemetry) == ("mirror", "exact")
    assert made.feeds == (FeedSpec("sflow", 4096), FeedSpec("ipfix"))
    assert add_feeds(made, ("mirror",)).gathered == MIRROR_GATHERED


@pytest.mark.parametrize("wish", ["sflow:0", "sflow:x", "sflow:-1", "netflow5:20000", "netflow", "mirror:2", ""])
def test_what_cannot_be_had_is_refused_in_one_line(wish: str) -> None:
    """Rates are whole numbers from 1 that the protocol can tell; kinds are known."""
    with pytest.raises(InputError, match=f"--feed {wish}: "):
        add_feeds(PLAIN, (wish,))


@pytest.mark.parametrize("wishes", [("sflow:2", "sflow:3"), ("exact", "mirror")])
def test_nothing_is_wished_for_twice(wishes: tuple[str, ...]) -> None:
    """A case has one file of a kind."""
    with pytest.raises(InputError):
        add_feeds(PLAIN, wishes)
