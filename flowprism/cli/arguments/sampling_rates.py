"""Sampling rates as they are typed: `1000` for all exporters, `10.255.0.1=4096` for one."""

from __future__ import annotations

from collections.abc import Iterable

from capture.configured_rates import UNKNOWN_RATE, SamplingRates
from capture.tables.addresses import canonical
from datamodel.errors import InputError

_LARGEST_RATE = 1 << 32


def parse_sampling_rates(texts: Iterable[str]) -> SamplingRates:
    """The rates that `[EXPORTER=]N` texts say; a later one replaces an earlier one of the same exporter.

    Raises:
        InputError: a text is not of that form; the message repeats it.
    """
    by_exporter: dict[str, int] = {}
    otherwise = UNKNOWN_RATE
    for text in texts:
        exporter, _, number = text.rpartition("=")
        if not number.isascii() or not number.isdigit() or not 1 <= int(number) <= _LARGEST_RATE:
            raise InputError(f"--sampling-rate {text}: expected N or EXPORTER=N, with N a whole number from 1")
        if not exporter:
            otherwise = int(number)
            continue
        address = canonical(exporter)
        if address is None:
            raise InputError(f"--sampling-rate {text}: {exporter} is not an IP address")
        by_exporter[address] = int(number)
    return SamplingRates(by_exporter, otherwise)
