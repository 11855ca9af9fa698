"""Sampling rates that exporters tell in options data, and which of them a record's rate is.

A rate is told for a sampler of an exporter (RFC 5477; NetFlow v9 fields 34, 48 and 50). Options may come under another
observation domain than the records they are about, or without saying for which sampler; so each rate is kept for four
scopes: this sampler of this exporter, this sampler of the same address whatever the domain, and both of them whatever
the sampler. A scope in which different rates were told is ambiguous and answers nothing.
"""

from __future__ import annotations

import numpy as np

from capture.compiled import compiled, wide
from capture.key_table import Words, known_place, place_of
from capture.netflow.layout import Row, Samplers, Table

UNKNOWN = 0
AMBIGUOUS = -1
ANY = -1  # id of the entry that stands for all samplers of a scope
MOST_SAMPLERS = 1 << 16  # entries of the table
ENTRIES_A_SAMPLER = 4
_MOST_OF_AN_EXPORTER = 256
_LARGEST_RATE = 1 << 40


def sampler_keys(samplers: Table) -> Words:
    """What rows of `SAMPLERS` are found by."""
    return np.stack([samplers["scope"], samplers["id"]], axis=1)


@compiled
def told_rate(rate: int, space: int, size: int, spaced: bool, sized: bool) -> int:
    """The N of 1 in N that a record tells; UNKNOWN where it makes no sense.

    Args:
        rate: samplingInterval, samplerRandomInterval, samplingPacketInterval or samplingPopulation.
        space: samplingPacketSpace: after `rate` packets so many are left out (RFC 5477 section 8.2).
        size: samplingSize: out of `rate` packets so many are taken.
        spaced: there is a `space`. A samplingPacketInterval without one is used by exporters for the N itself.
        sized: there is a `size`.
    """
    if rate <= 0 or rate > _LARGEST_RATE or space < 0 or space > _LARGEST_RATE:
        return UNKNOWN
    if spaced:
        return (rate + space + rate // 2) // rate
    if sized:
        return (rate + size // 2) // size if 0 < size <= rate else UNKNOWN
    return rate


@compiled
def learn(samplers: Samplers, source: Row, exporter: int, sampler: int, rate: int) -> bool:
    """Keep a rate that an exporter tells for one of its samplers; False where there is no room for it."""
    agent = wide(source["agent"])
    if known_place(samplers.keys, (exporter * 2, sampler)) < 0:
        full = samplers.keys.used[0] + ENTRIES_A_SAMPLER > len(samplers.rows)
        if full or source["samplers"] >= _MOST_OF_AN_EXPORTER:
            return False
        source["samplers"] += 1
    teller = exporter << 32 | (sampler & 0xFFFFFFFF)
    keep(samplers, exporter * 2, sampler, teller, rate)
    keep(samplers, exporter * 2, wide(ANY), teller, rate)
    keep(samplers, agent * 2 + 1, sampler, teller, rate)
    keep(samplers, agent * 2 + 1, wide(ANY), teller, rate)
    return True


@compiled
def keep(samplers: Samplers, scope: int, sampler: int, teller: int, rate: int) -> None:
    """Enter a rate; the scope turns ambiguous where another teller told another one."""
    known = samplers.keys.used[0]
    place = place_of(samplers.keys, (scope, sampler))
    entry = samplers.rows[place]
    if place == known:
        entry["scope"] = scope
        entry["id"] = sampler
        entry["teller"] = teller
        entry["rate"] = rate
    elif entry["rate"] != AMBIGUOUS and entry["rate"] != rate:
        entry["rate"] = rate if entry["teller"] == teller else wide(AMBIGUOUS)


@compiled
def entered(samplers: Samplers, scope: int, sampler: int) -> int:
    """The rate of a scope's sampler, AMBIGUOUS or UNKNOWN."""
    place = known_place(samplers.keys, (scope, sampler))
    return wide(samplers.rows[place]["rate"]) if place >= 0 else wide(UNKNOWN)


@compiled
def sampler_rate(samplers: Samplers, exporter: int, agent: int, sampler: int) -> int:
    """The rate of a sampler, of this exporter or else of the same address in another domain; UNKNOWN if untold."""
    if samplers.keys.used[0] == 0:
        return wide(UNKNOWN)
    rate = entered(samplers, exporter * 2, sampler)
    if rate == UNKNOWN:
        rate = entered(samplers, agent * 2 + 1, sampler)
    return max(rate, wide(UNKNOWN))


@compiled
def only_rate(samplers: Samplers, exporter: int, agent: int) -> int:
    """The rate of an exporter whose samplers, as far as they are known, have one rate; else UNKNOWN."""
    return sampler_rate(samplers, exporter, agent, wide(ANY))
