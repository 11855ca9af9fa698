"""Exporters' clocks: when their uptime began, and wire times to ns since 1970.

A NetFlow v9 header has the uptime in ms but the time in whole seconds. Each header says that the uptime began within
one second; what all headers of an exporter say together narrows that to a few ms (`narrow`).
"""

from __future__ import annotations

from capture.jit import jit, wide
from capture.netflow.wire.netflow_layout import (
    DELTA_MICROSECONDS,
    MICROSECONDS,
    MILLISECONDS,
    NTP_MICROSECONDS,
    NTP_NANOSECONDS,
    SECONDS,
    Row,
)

SECOND_NS, MILLISECOND_NS, MICROSECOND_NS = 1_000_000_000, 1_000_000, 1_000
SECOND_MS = 1_000
CLOCK_SET_NS = 946_684_800 * SECOND_NS  # 2000: no clock that was ever set shows less
FAR_NS = 366 * 86_400 * SECOND_NS
OLD_NS = 86_400 * SECOND_NS  # no meter holds back a flow that has ended for so long
AHEAD_NS = 60 * SECOND_NS  # by which a flow may end after its export, as clocks of one exporter go
FAR_AHEAD_NS = 30 * 86_400 * SECOND_NS  # by which none can, whatever the clocks
IMPOSSIBLE = 0  # a wire time that no clock shows

LAST_MS = (1 << 33) * 1_000  # the last time that ns since 1970 can express in 64 bits

_LAST_SECOND = 1 << 33
_NTP_EPOCH_S = 2_208_988_800  # 1970 in seconds since 1900
_NTP_ERA_S = 1 << 32
_MASK32 = 0xFFFFFFFF
_HALF_MS = 1 << 31
_SHORT_BY_MS = 86_400_000  # by which a flow's start may lie after its end; more than that means that the uptime wrapped
_DRIFT = 10_000  # clocks drift by less than one part in so many


@jit
def narrow(source: Row, header_ms: int, uptime_ms: int, width_ms: int) -> None:
    """Narrow the bounds of when an exporter's uptime began, by a header whose time may be up to `width_ms` short."""
    low = header_ms - uptime_ms
    high = low + width_ms
    if source["boot_at_ms"] > 0:
        drift = abs(header_ms - source["boot_at_ms"]) // _DRIFT
        known_low, known_high = source["boot_low_ms"] - drift, source["boot_high_ms"] + drift
        if known_low <= high and low <= known_high:  # otherwise it restarted, or its clock was set
            low, high = max(low, known_low), min(high, known_high)
    source["boot_low_ms"] = low
    source["boot_high_ms"] = high
    source["boot_at_ms"] = header_ms


@jit
def at_uptime(boot_ns: int, now_ms: int, uptime_ms: int) -> int:
    """Compute when an uptime, given modulo 2^32, was reached; `now_ms` is the uptime of the export."""
    behind = (now_ms - uptime_ms) & _MASK32
    if behind >= _HALF_MS:
        behind -= _MASK32 + 1
    return boot_ns + (now_ms - behind) * MILLISECOND_NS


@jit
def length_ms(start_ms: int, end_ms: int) -> int:
    """Compute the time between two uptimes, both given modulo 2^32; flows last up to seven weeks."""
    length = (end_ms - start_ms) & _MASK32
    return length - (_MASK32 + 1) if length > _MASK32 - _SHORT_BY_MS else length


@jit
def absolute(unit: int, value: int, export_ns: int) -> int:
    """A wire time that needs no uptime, in ns; IMPOSSIBLE where it is out of all bounds.

    RFC 7011 sections 6.1.7 to 6.1.10; flowStartDeltaMicroseconds lies before the export (RFC 7012).
    """
    if unit == MILLISECONDS:
        return value * MILLISECOND_NS if 0 <= value < LAST_MS else wide(IMPOSSIBLE)
    if unit == SECONDS:
        return value * SECOND_NS if 0 <= value < _LAST_SECOND else wide(IMPOSSIBLE)
    if unit == MICROSECONDS:
        return value * MICROSECOND_NS if 0 <= value < _LAST_SECOND * 1_000_000 else wide(IMPOSSIBLE)
    if unit == DELTA_MICROSECONDS:
        return export_ns - (value & _MASK32) * MICROSECOND_NS
    return ntp(value)


@jit
def ntp(value: int) -> int:
    """An NTP time stamp (RFC 5905): seconds since 1900, modulo 2^32, and a binary fraction."""
    seconds = (value >> 32 & _MASK32) - _NTP_EPOCH_S
    if seconds < 0:
        seconds += _NTP_ERA_S
    return seconds * SECOND_NS + ((value & _MASK32) * SECOND_NS >> 32)


@jit
def plain(unit: int, value: int) -> int:
    """What a value that should be an NTP time stamp means if it is a plain count of µs or ns since 1970."""
    if unit == NTP_MICROSECONDS:
        return absolute(wide(MICROSECONDS), value, wide(0))
    return value


@jit
def half_width_ns(unit: int) -> int:
    """What a time in this unit may be off: half of it."""
    if unit in (SECONDS, DELTA_MICROSECONDS):  # deltas are from an export time in seconds
        return wide(SECOND_NS // 2)
    if unit == MILLISECONDS:
        return wide(MILLISECOND_NS // 2)
    if unit in (MICROSECONDS, NTP_MICROSECONDS):
        return wide(MICROSECOND_NS // 2)
    return wide(1) if unit == NTP_NANOSECONDS else wide(0)
