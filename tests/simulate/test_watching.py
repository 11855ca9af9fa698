import pytest

from datamodel.errors import InputError
from simulate.base import Wish
from simulate.catalogue import scenario
from simulate.export.feed import Feed
from simulate.watching import MIRROR_GATHERED, watched

PLAIN = scenario("twin-healthy", Wish(iterations=2))


def test_a_scenario_without_wishes_is_as_it_was() -> None:
    """No wish, no change."""
    assert watched(PLAIN, ()) == PLAIN


def test_flow_records_and_feeds_are_wished_for_together() -> None:
    """`exact` changes the flow records, `KIND:RATE` adds a feed; without a rate every packet is seen."""
    made = watched(PLAIN, ("exact", "sflow:4096", "ipfix"))
    assert (PLAIN.telemetry, made.telemetry) == ("mirror", "exact")
    assert made.feeds == (Feed("sflow", 4096), Feed("ipfix"))
    assert watched(made, ("mirror",)).gathered == MIRROR_GATHERED


@pytest.mark.parametrize("wish", ["sflow:0", "sflow:x", "sflow:-1", "netflow5:20000", "netflow", "mirror:2", ""])
def test_what_cannot_be_had_is_refused_in_one_line(wish: str) -> None:
    """Rates are whole numbers from 1 that the protocol can tell; kinds are known."""
    with pytest.raises(InputError, match=f"--feed {wish}: "):
        watched(PLAIN, (wish,))


@pytest.mark.parametrize("wishes", [("sflow:2", "sflow:3"), ("exact", "mirror")])
def test_nothing_is_wished_for_twice(wishes: tuple[str, ...]) -> None:
    """A case has one file of a kind."""
    with pytest.raises(InputError):
        watched(PLAIN, wishes)
