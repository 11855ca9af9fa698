"""Numbers as people read them: times, durations, volumes, shares. The same number always gives the same text."""

from __future__ import annotations

import math
from datetime import UTC, datetime

_DECIMAL = ("", "k", "M", "G", "T", "P")


def utc(time_ns: int) -> str:
    """A time in UTC to the millisecond, `2026-11-20 23:47:24.951`."""
    seconds, rest_ns = divmod(time_ns, 1_000_000_000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S}.{rest_ns // 1_000_000:03d}"


def duration(seconds: float) -> str:
    """A duration in three significant digits of the fitting unit: `1.02 s`, `153 ms`, `4 min 05 s`, `2 h 10 min`."""
    if not math.isfinite(seconds):
        return significant(seconds)
    if abs(seconds) >= 3600:
        minutes = round(seconds / 60)
        return f"{minutes // 60} h {minutes % 60:02d} min"
    if abs(seconds) >= 120:
        whole = round(seconds)
        return f"{whole // 60} min {whole % 60:02d} s"
    for scale, unit in ((1.0, "s"), (1e3, "ms"), (1e6, "µs")):
        if abs(seconds) * scale >= 0.9995:
            return f"{significant(seconds * scale)} {unit}"
    return "0 s" if seconds == 0 else f"{significant(seconds * 1e9)} ns"


def significant(value: float, digits: int = 3) -> str:
    """A number in so many significant digits, never with an exponent: `0.0123`, `1.20`, `153`; nan is `unknown`."""
    if not math.isfinite(value):
        return "unknown" if math.isnan(value) else "∞" if value > 0 else "-∞"
    if value == 0:
        return "0"
    text = f"{value:.{digits - 1}e}"
    decimals = max(digits - 1 - int(text.split("e")[1]), 0)
    return f"{float(text):.{decimals}f}" if abs(value) < 10**digits else f"{value:.0f}"


def volume(count_bytes: float) -> str:
    """Bytes in decimal units: `512 B`, `1.53 GB`."""
    return scaled(count_bytes, "B")


def scaled(value: float, unit: str) -> str:
    """A number in the decimal multiple of its unit that fits: `1.53 GB`, `94.0 Mbit/s`."""
    step = 0
    while abs(value) >= 999.5 and step < len(_DECIMAL) - 1:
        value /= 1000
        step += 1
    text = f"{value:.0f}" if step == 0 and value == int(value) else significant(value)
    return f"{text} {_DECIMAL[step]}{unit}"


def count(number: int) -> str:
    """A count with thousands set apart: `1,234,567`."""
    return f"{number:,}"


def share(ratio: float) -> str:
    """A ratio as a percentage: `0.3 %`, `12 %`."""
    percent = 100 * ratio
    return f"{percent:.1f} %" if 0 < abs(percent) < 9.95 else f"{percent:.0f} %"


def plural(number: int, noun: str) -> str:
    """`1 job`, `2 jobs`, `2 switches`, `2 leaves`."""
    many = f"{noun[:-1]}ves" if noun == "leaf" else f"{noun}es" if noun.endswith("ch") else f"{noun}s"
    return f"{count(number)} {noun if number == 1 else many}"


def measured(value: float, unit: str) -> str:
    """A measured value with its unit, as evidence states it; bits, bytes and seconds take the multiple that fits."""
    if unit == "s":
        return duration(value)
    if unit in {"ns", "us", "µs", "ms"}:
        return duration(value * {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3}[unit])
    if unit in {"B", "B/s", "bit/s", "bps"}:
        return scaled(value, unit.replace("bps", "bit/s"))
    if unit in {"ratio", "1", ""}:
        return significant(value)
    return f"{significant(value)} {unit}"
