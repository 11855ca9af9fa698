import pytest

from datamodel.errors import InputError
from simulate.export.feed_spec import FeedSpec
from simulate.scenarios.base_job import ScenarioOptions
from simulate.scenarios.catalogue import scenario
from simulate.scenarios.feed_options import MIRROR_GATHERED, add_feeds

PLAIN = scenario("twin-healthy", ScenarioOptions(iterations=2))


def test_no_feed_option_leaves_the_scenario_unchanged() -> None:
    """The same scenario."""
    assert add_feeds(PLAIN, ()) == PLAIN


def test_flow_records_and_feeds_can_be_combined() -> None:
    """`exact` changes the flow records, `KIND:RATE` adds a feed; without a rate every packet is seen."""
    made = add_feeds(PLAIN, ("exact", "sflow:4096", "ipfix"))
    assert (PLAIN.telemetry, made.telemetry) == ("mirror", "exact")
    assert made.feeds == (FeedSpec("sflow", 4096), FeedSpec("ipfix"))
    assert add_feeds(made, ("mirror",)).gathered == MIRROR_GATHERED


@pytest.mark.parametrize("kind", ["sflow:0", "sflow:x", "sflow:-1", "netflow5:20000", "netflow", "mirror:2", ""])
def test_unknown_kind_or_rate_is_refused_in_one_line(kind: str) -> None:
    """Rates are whole numbers from 1 that the protocol can express; kinds are known."""
    with pytest.raises(InputError, match=f"--feed {kind}: "):
        add_feeds(PLAIN, (kind,))


@pytest.mark.parametrize("kinds", [("sflow:2", "sflow:3"), ("exact", "mirror")])
def test_duplicate_kind_is_refused(kinds: tuple[str, ...]) -> None:
    """A case has one file of a kind."""
    with pytest.raises(InputError):
        add_feeds(PLAIN, kinds)
