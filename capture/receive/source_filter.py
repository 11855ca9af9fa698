"""Which sources may send: networks as words that a kernel compares (`capture.receive.source_check`)."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Network, ip_address, ip_network

import numpy as np
import numpy.typing as npt

from capture.tables.addresses import MAPPED, MASK64
from datamodel.errors import InputError

Networks = npt.NDArray[np.int64]

_IPV4_WITHIN_MAPPED = 96


def networks(texts: Iterable[str]) -> Networks:
    """Networks to allow, shape (n, 4): address (high, low) and mask (high, low), IPv4 as IPv4-mapped.

    Raises:
        InputError: one is no network, such as 10.1.2.3/8 with bits beyond its prefix.
    """
    rows = [_row(text) for text in texts]
    return np.array(rows, np.int64).reshape(-1, 4)


def words(address: str) -> tuple[int, int]:
    """An address as two signed 64-bit words, IPv4 as IPv4-mapped.

    Raises:
        ValueError: it is no address.
    """
    parsed = ip_address(address.partition("%")[0])
    number = int(parsed) | MAPPED if isinstance(parsed, IPv4Address) else int(parsed)
    return _signed(number >> 64), _signed(number & MASK64)


def is_allowed(allowed: Networks, high: int, low: int) -> bool:
    """Check whether an address is in one of the networks; without networks every address is allowed."""
    inside = ((high & allowed[:, 2]) == allowed[:, 0]) & ((low & allowed[:, 3]) == allowed[:, 1])
    return len(allowed) == 0 or bool(inside.any())


def _row(text: str) -> tuple[int, int, int, int]:
    try:
        network: IPv4Network | IPv6Network = ip_network(text.strip())
    except ValueError as error:
        raise InputError(f"--allow {text}: {error}") from None
    prefix = network.prefixlen + (_IPV4_WITHIN_MAPPED if isinstance(network, IPv4Network) else 0)
    mask = ((1 << prefix) - 1) << (128 - prefix)
    return *words(str(network.network_address)), _signed(mask >> 64), _signed(mask & MASK64)


def _signed(word: int) -> int:
    return word - (1 << 64) if word >> 63 else word
