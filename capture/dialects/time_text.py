"""Times as collectors print them: dates with and without a zone, and numbers since 1970, to nanoseconds."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from datamodel.durations import SECOND_NS

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

EARLIEST_NS = 631_152_000 * SECOND_NS  # 1990; what is earlier is an exporter's uptime and no date
_FORM = (
    r"^(?:(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2})|(?P<number>[0-9]{1,19}))"
    r"(?:\.(?P<fraction>[0-9]{1,9}))?(?P<zone>Z|[+-][0-9]{2}:?[0-9]{2})?$"
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST_SECOND = 9 * 10**9  # in the year 2255; nanoseconds beyond 2262 do not fit 64 bits


class Times(NamedTuple):
    """A column of times.

    Attributes:
        ns: nanoseconds since 1970, UTC; 0 where there is no time.
        known: where there is one.
        zoneless: where a date stands without a zone; it is taken as UTC.
        whole_seconds: where nothing finer than seconds is given.
    """

    ns: Ints
    known: Mask
    zoneless: Mask
    whole_seconds: Mask


def times(data: pa.Array) -> Times:
    """Read a column of times.

    "2026-11-20 15:25:48.391", with a "T" for the blank, with a zone ("Z", "+01:00") or none; "1795188348.391" in
    seconds; a whole number in seconds, milliseconds, microseconds or nanoseconds, whichever gives a date of this
    age. The date "0000-00-00 00:00:00", an empty text, null and whatever else are no time.

    Args:
        data: texts or whole numbers.
    """
    if data.null_count == len(data):
        nowhere = np.zeros(len(data), np.bool_)
        return Times(np.zeros(len(data), np.int64), nowhere, nowhere, nowhere)
    parts = pc.extract_regex(pc.utf8_trim_whitespace(pc.cast(data, pa.string())), _FORM)
    date, number, fraction, zone = (_field(parts, name) for name in ("date", "number", "fraction", "zone"))
    dated, counted = _filled(date), _filled(number)
    seconds_ns, valid = _looked_up(date, _date_ns)
    count = np.asarray(pc.fill_null(_cast(number), 0).to_numpy(zero_copy_only=False), np.int64)
    unit = np.select([count < 10**11, count < 10**14, count < 10**17], [SECOND_NS, 10**6, 10**3], 1)
    sized = count <= _LAST_SECOND * (SECOND_NS // unit)
    offset_ns, _ = _looked_up(zone, _zone_ns)
    fine = np.asarray(_cast(pc.utf8_rpad(fraction, 9, "0")).fill_null(0).to_numpy(zero_copy_only=False), np.int64)
    ns = np.where(dated, seconds_ns - offset_ns, np.where(sized, count, 0) * unit) + fine
    known = np.where(dated, valid, counted & sized) & (ns > 0)
    coarse = known & ~_filled(fraction) & (dated | (unit == SECOND_NS))
    return Times(np.where(known, ns, 0), known, known & dated & ~_filled(zone), coarse)


def _field(parts: pa.StructArray, name: str) -> pa.Array:
    """One group of the expression; null where it, or the whole expression, matched nothing."""
    text = pc.struct_field(parts, name)
    return pc.if_else(pc.equal(text, ""), pa.scalar(None, pa.string()), text)


def _filled(text: pa.Array) -> Mask:
    return np.asarray(text.is_valid().to_numpy(zero_copy_only=False), np.bool_)


def _cast(digits: pa.Array) -> pa.Array:
    """Numbers of texts of digits; null beyond 63 bits."""
    short = pc.or_(pc.less(pc.utf8_length(digits), 19), pc.less(digits, "9223372036854775807"))
    return pc.if_else(short, digits, pa.scalar(None, pa.string())).cast(pa.int64())


def _looked_up(data: pa.Array, read: Callable[[str], int | None]) -> tuple[Ints, Mask]:
    """What `read` makes of each text, and where it makes anything; each distinct text is read once."""
    encoded = data.dictionary_encode()
    meant = [read(text.as_py()) for text in encoded.dictionary] + [None]
    places = np.asarray(encoded.indices.fill_null(len(meant) - 1).to_numpy(zero_copy_only=False), np.int64)
    values = np.array([number or 0 for number in meant], np.int64)
    return values[places], np.array([number is not None for number in meant], np.bool_)[places]


def _date_ns(text: str) -> int | None:
    try:
        date = datetime.fromisoformat(text).replace(tzinfo=UTC)
    except ValueError:  # "0000-00-00 00:00:00" and the 31st of February
        return None
    return (date - _EPOCH) // timedelta(seconds=1) * SECOND_NS if 1970 <= date.year < 2255 else None


def _zone_ns(text: str) -> int:
    if text == "Z":
        return 0
    sign, hours, minutes = text[0], int(text[1:3]), int(text[-2:])
    return (hours * 3600 + minutes * 60) * (-SECOND_NS if sign == "-" else SECOND_NS)
