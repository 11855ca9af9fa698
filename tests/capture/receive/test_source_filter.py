"""Networks that may send."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capture.receive.source_check import allows
from capture.receive.source_filter import is_allowed, networks, words
from capture.tables.addresses import from_words
from datamodel.errors import InputError

CASES = [
    ("10.0.0.0/8", "10.255.0.1", True),
    ("10.0.0.0/8", "11.0.0.1", False),
    ("192.0.2.7", "192.0.2.7", True),
    ("192.0.2.7", "192.0.2.8", False),
    ("0.0.0.0/0", "203.0.113.1", True),
    ("0.0.0.0/0", "2001:db8::1", False),
    ("2001:db8::/32", "2001:db8:ffff::1", True),
    ("2001:db8::/32", "2001:db9::1", False),
    ("fe80::/10", "fe80::1%lo", True),
    ("::/0", "ffff::1", True),
]


@pytest.mark.parametrize(("network", "address", "inside"), CASES)
def test_networks(network: str, address: str, inside: bool) -> None:
    """An address is allowed where a network holds it, compiled and not."""
    allowed = networks(["198.51.100.0/24", network])
    assert is_allowed(allowed, *words(address)) is inside
    assert bool(allows(allowed, *words(address))) is inside


def test_without_networks_everybody_may() -> None:
    """An empty list allows all."""
    assert is_allowed(networks([]), *words("192.0.2.1"))
    assert networks([]).shape == (0, 4)


@pytest.mark.parametrize("text", ["10.1.2.3/8", "10.0.0.0/33", "exporter", ""])
def test_no_network(text: str) -> None:
    """What is no network is named."""
    with pytest.raises(InputError, match=f"--allow {text}"):
        networks([text])


@given(st.ip_addresses())
def test_words_are_the_address(address: object) -> None:
    """Words and text say the same address."""
    high, low = words(str(address))
    assert words(from_words(high, low)) == (high, low)
    assert -(2**63) <= high < 2**63
    assert np.int64(low) == low
