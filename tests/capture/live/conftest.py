"""The pair of namespaces that the tests of this folder send through."""

from collections.abc import Iterator

import pytest

from tests.capture.live.namespaces import Namespace, joined_pair, why_not


@pytest.fixture(scope="package")
def pair() -> Iterator[tuple[Namespace, Namespace]]:
    """A sender and a receiver; skips, with the reason, where this machine gives us none."""
    if reason := why_not():
        pytest.skip(reason)
    with joined_pair() as ends:
        yield ends


@pytest.fixture
def sender(pair: tuple[Namespace, Namespace]) -> Namespace:
    """The end that sends; its address is 10.77.0.1."""
    return pair[0]


@pytest.fixture
def receiver(pair: tuple[Namespace, Namespace]) -> Namespace:
    """The end that receives; its address is 10.77.0.2."""
    return pair[1]
