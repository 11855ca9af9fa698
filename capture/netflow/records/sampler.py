"""Sampling rates that exporters send in options data, and their assignment to records.

A rate is exported for a sampler of an exporter (RFC 5477; NetFlow v9 fields 34, 48 and 50). Options may come under
another observation domain than the records they are about, or without saying for which sampler; so each rate is stored
for four scopes: this sampler of this exporter, this sampler of the same address whatever the domain, and both of them
whatever the sampler. A scope with different rates is ambiguous and has no rate.
"""

from __future__ import annotations

import numpy as np

from capture.jit import jit, wide
from capture.netflow.wire.netflow_layout import (
    CERTAIN,
    CHANCE,
    INTERVAL,
    POPULATION,
    RATE,
    SIZE,
    SPACE,
    Row,
    Samplers,
    Table,
    Words,
)
from capture.netflow.wire.reasons import RATE_ROUNDED
from capture.tables.key_table import known_place, place_of

UNKNOWN = 0
AMBIGUOUS = -1
ANY = -1  # id of the entry that stands for all samplers of a scope
MOST_SAMPLERS = 1 << 16  # entries of the table
ENTRIES_A_SAMPLER = 4
_FORGOTTEN = -1  # origin of an entry whose exporter is forgotten: another's rate may take its place
_MOST_OF_AN_EXPORTER = 256
_LARGEST_RATE = 1 << 40
_EXACT_BITS = 20  # a probability of four bytes has a few more


def sampler_keys(samplers: Table) -> Words:
    """What rows of `SAMPLERS` are found by."""
    return np.stack([samplers["scope"], samplers["id"]], axis=1)


def moved_samplers(samplers: Table, places: Words, agents: Words) -> Table:
    """The entries after exporters have moved; those of scopes that are gone are left out.

    Args:
        samplers: `SAMPLERS` rows.
        places: new place of each exporter, -1 where it is forgotten.
        agents: new place of the first exporter of each address, by its old place; -1 where none is left.
    """
    moved = samplers.copy()
    exporter, of_address = samplers["scope"] >> 1, samplers["scope"] & 1
    scope = np.where(of_address, agents[exporter], places[exporter])
    moved["scope"] = scope << 1 | of_address
    origin = samplers["origin"]
    place = np.where(origin == _FORGOTTEN, -1, places[origin >> 32])
    moved["origin"] = np.where(place < 0, _FORGOTTEN, place << 32 | (origin & 0xFFFFFFFF))
    kept: Table = moved[scope >= 0]
    return kept


@jit
def exported_rate(source: Row, matrix: Words, present: int, column: int) -> int:
    """Return the N of 1 in N in a record; UNKNOWN where it makes no sense. Rounded values are counted.

    A record may hold the elements of several kinds of samplers, those of the others being zero.
    """
    out_of, taken = proportion(matrix, present, column)
    if taken <= 0 or taken > out_of or out_of // taken > _LARGEST_RATE:
        return UNKNOWN
    rate, above = out_of // taken, out_of % taken
    below = taken - above
    if min(above, below) > out_of >> _EXACT_BITS:
        source["doubts"][RATE_ROUNDED] += 1
    return rate if above < below else rate + 1


@jit
def proportion(matrix: Words, present: int, column: int) -> tuple[int, int]:
    """Out of how many packets a record says that how many are taken; (0, 0) where it does not say.

    samplingInterval and samplerRandomInterval; samplingPacketInterval, after which samplingPacketSpace packets are left
    out; samplingSize out of samplingPopulation; samplingProbability (RFC 5477 section 8.2). A samplingPacketInterval
    alone comes last: exporters use it for the N itself, or give what is left out by a population instead.
    """
    if present >> RATE & 1 and matrix[RATE, column] > 0:
        return matrix[RATE, column], wide(1)
    interval = matrix[INTERVAL, column] if present >> INTERVAL & 1 else wide(0)
    space = matrix[SPACE, column] if present >> SPACE & 1 else wide(-1)
    if 0 < interval <= _LARGEST_RATE and 0 <= space <= _LARGEST_RATE:
        return interval + space, interval
    size = matrix[SIZE, column] if present >> SIZE & 1 else wide(1)
    if present >> POPULATION & 1 and matrix[POPULATION, column] > 0 and size > 0:
        return matrix[POPULATION, column], size
    if present >> CHANCE & 1 and matrix[CHANCE, column] > 0:
        return wide(CERTAIN), matrix[CHANCE, column]
    return interval, wide(1)


@jit
def no_sampler(algorithm: int) -> bool:
    """Whether a selectorAlgorithm takes no fixed share of the packets: by time (2), or by what they are (5 to 9).

    Numbers of IANA's registry "PSAMP Parameters": 1, 3 and 4 are the samplers whose parameters give a rate.
    """
    return bool(algorithm == 2 or (5 <= algorithm <= 9))


@jit
def learn_rate(samplers: Samplers, source: Row, exporter: int, sampler: int, rate: int) -> bool:
    """Store the exported rate of a sampler; False where the table is full."""
    agent = wide(source["agent"])
    if known_place(samplers.keys, (exporter * 2, sampler)) < 0:
        full = samplers.keys.used[0] + ENTRIES_A_SAMPLER > len(samplers.rows)
        if full or source["samplers"] >= _MOST_OF_AN_EXPORTER:
            return False
        source["samplers"] += 1
    origin = exporter << 32 | (sampler & 0xFFFFFFFF)
    keep(samplers, exporter * 2, sampler, origin, rate)
    keep(samplers, exporter * 2, wide(ANY), origin, rate)
    keep(samplers, agent * 2 + 1, sampler, origin, rate)
    keep(samplers, agent * 2 + 1, wide(ANY), origin, rate)
    return True


@jit
def keep(samplers: Samplers, scope: int, sampler: int, origin: int, rate: int) -> None:
    """Enter a rate; the scope becomes ambiguous where another origin sent another rate."""
    known = samplers.keys.used[0]
    place = place_of(samplers.keys, (scope, sampler))
    entry = samplers.rows[place]
    if place == known:
        entry["scope"] = scope
        entry["id"] = sampler
        entry["origin"] = origin
        entry["rate"] = rate
    if entry["origin"] == _FORGOTTEN:
        entry["origin"] = origin
    if entry["rate"] != AMBIGUOUS and entry["rate"] != rate:
        entry["rate"] = rate if entry["origin"] == origin else wide(AMBIGUOUS)


@jit
def entered(samplers: Samplers, scope: int, sampler: int) -> int:
    """The rate of a scope's sampler, AMBIGUOUS or UNKNOWN."""
    place = known_place(samplers.keys, (scope, sampler))
    return wide(samplers.rows[place]["rate"]) if place >= 0 else wide(UNKNOWN)


@jit
def sampler_rate(samplers: Samplers, exporter: int, agent: int, sampler: int) -> int:
    """Return a sampler's rate from this exporter or else the same address in another domain; UNKNOWN if none."""
    if samplers.keys.used[0] == 0:
        return wide(UNKNOWN)
    rate = entered(samplers, exporter * 2, sampler)
    if rate == UNKNOWN:
        rate = entered(samplers, agent * 2 + 1, sampler)
    return max(rate, wide(UNKNOWN))


@jit
def only_rate(samplers: Samplers, exporter: int, agent: int) -> int:
    """The rate of an exporter whose samplers, as far as they are known, have one rate; else UNKNOWN."""
    return sampler_rate(samplers, exporter, agent, wide(ANY))
