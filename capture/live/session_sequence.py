"""What ERSPAN sessions lost on their way: the GRE sequence number (RFC 2890) of every packet against those before it.

Types II and III number the packets of a session one by one; type I does not. A number that is missing may still come:
it is lost once WINDOW higher numbers have been reached. A jump that no loss explains (JUMP ahead, or further back
than the window) restarts the session if the next packet continues it, as in RFC 3550 appendix A.1; else it is stray.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from capture.jit import jit, wide
from capture.mirror.flow_table import mixed
from capture.mirror.sequence_numbers import unwrapped
from capture.packets.headers import MAPPED, be16, be32, be64
from capture.packets.packet_columns import Record
from capture.tables.frame_index import Index
from capture.tables.read_buffer import Bytes

Sessions = npt.NDArray[np.void]
Totals = npt.NDArray[np.int64]

WINDOW = 1024
JUMP = 1 << 28
MOST_SESSIONS = 1 << 12  # more than these are not followed, so that invented sources cost no memory
SLOTS = 2 * MOST_SESSIONS

SESSION = np.dtype(
    [
        ("used", "u1"),
        ("source_high", "i8"),
        ("source_low", "i8"),
        ("session", "i4"),
        ("highest", "i8"),  # sequence number, unwrapped to 64 bits
        ("expected", "i8"),  # what would confirm a jump; NOTHING where there was none
        ("received", "i8"),
        ("lost", "i8"),
        ("missing", "i8"),
        ("late", "i8"),
        ("repeated", "i8"),
        ("stray", "i8"),
        ("restarts", "i8"),
        ("seen", "u1", (WINDOW,)),  # of the numbers in (highest - WINDOW, highest], at their remainder
    ],
    align=True,
)

# Places in the array of totals.
FOLLOWED, NOT_FOLLOWED = range(2)
TOTALS = 2
NOTHING = -1

_GRE, _ERSPAN, _ERSPAN_III = 47, 0x88BE, 0x22EB


def no_sessions() -> tuple[Sessions, Totals]:
    """Tables in which no session has been seen."""
    return np.zeros(SLOTS, SESSION), np.zeros(TOTALS, np.int64)


@jit
def note_sequences(data: Bytes, index: Index, sessions: Sessions, totals: Totals) -> None:
    """Enter a batch of packets into the sessions they belong to; those without a number are passed over.

    Args:
        data: the bytes `index` points into: IP packets with GRE inside.
        index: where the packets lie, in the order they came.
        sessions: (SLOTS,) of SESSION, found by hash.
        totals: (TOTALS,) counters: sessions followed, and packets of sessions that are not.
    """
    for i in range(len(index)):
        at = wide(index[i]["offset"])
        end = at + index[i]["captured_bytes"]
        high, low, gre = outer_source(data, at, end)
        sequence, session = session_number(data, gre, end)
        if sequence < 0:
            continue
        place = session_at(high, low, session, sessions, totals)
        if place < 0:
            totals[NOT_FOLLOWED] += 1
        else:
            enter_number(sessions[place], sequence)


@jit
def outer_source(data: Bytes, at: int, end: int) -> tuple[int, int, int]:
    """Source address of an IP packet, as two words, and where its payload begins; `end` where it has none we know."""
    if at + 20 > end:
        return wide(0), wide(0), end
    if data[at] >> 4 == 4:
        return wide(0), MAPPED | be32(data, at + 12), at + (wide(data[at]) & 15) * 4
    if data[at] >> 4 == 6 and at + 40 <= end:
        return be64(data, at + 8), be64(data, at + 16), at + 40
    return wide(0), wide(0), end


@jit
def session_number(data: Bytes, at: int, end: int) -> tuple[int, int]:
    """Sequence number and session of the ERSPAN type II or III packet whose GRE header is at `at`; else NOTHING."""
    if at + 4 > end:
        return wide(NOTHING), wide(0)
    flags, kind = be16(data, at), be16(data, at + 2)
    if flags & 0x5007 != 0x1000 or kind not in (_ERSPAN, _ERSPAN_III):
        return wide(NOTHING), wide(0)
    at += 4
    for bit in (0x8000, 0x2000):  # checksum, key: four bytes each, ahead of the sequence number
        if flags & bit:
            at += 4
    if at + 8 > end:
        return wide(NOTHING), wide(0)
    return be32(data, at), be16(data, at + 6) & 0x3FF


@jit
def session_at(high: int, low: int, session: int, sessions: Sessions, totals: Totals) -> int:
    """Where this session lies in the table, entered if it is new; NOTHING where there is no more room."""
    place = mixed(mixed(mixed(wide(0x2545F491), high), low), session) & (len(sessions) - 1)
    while sessions[place]["used"]:
        row = sessions[place]
        if row["source_high"] == high and row["source_low"] == low and row["session"] == session:
            return place
        place = (place + 1) & (len(sessions) - 1)
    if totals[FOLLOWED] >= MOST_SESSIONS:
        return NOTHING
    totals[FOLLOWED] += 1
    row = sessions[place]
    row["source_high"] = high
    row["source_low"] = low
    row["session"] = session
    return place


@jit
def enter_number(session: Record, sequence: int) -> None:
    """Enter one packet's number into its session."""
    if not session["used"]:
        session["used"] = 1
        begin(session, sequence - 1)
    position = unwrapped(session["highest"], sequence, wide(32))
    step = position - session["highest"]
    if step > JUMP or step <= -WINDOW:
        if sequence != session["expected"]:
            session["stray"] += 1
            session["expected"] = (sequence + 1) & 0xFFFFFFFF
            return
        session["stray"] -= 1  # the one before was the first of the new count
        session["received"] += 1
        session["restarts"] += 1
        begin(session, sequence - 1)
        position, step = wide(sequence), wide(1)
    session["expected"] = NOTHING
    place = position & (WINDOW - 1)
    if step > 0:
        advance(session, step)
    elif session["seen"][place]:
        session["repeated"] += 1
        return
    else:
        session["late"] += 1
        session["missing"] -= 1
    session["seen"][place] = 1
    session["received"] += 1


@jit
def begin(session: Record, highest: int) -> None:
    """Count from `highest` on; what is still missing will not come any more."""
    session["lost"] += session["missing"]
    session["missing"] = 0
    session["highest"] = highest
    session["expected"] = NOTHING
    for i in range(WINDOW):
        session["seen"][i] = 1


@jit
def advance(session: Record, step: int) -> None:
    """Move the window `step` numbers ahead, to one that has come; what leaves it unseen is lost."""
    first = session["highest"] + 1
    entering = min(step, WINDOW)
    for position in range(first, first + entering):
        place = position & (WINDOW - 1)
        if not session["seen"][place]:
            session["lost"] += 1
            session["missing"] -= 1
        session["seen"][place] = 0
    session["lost"] += step - entering
    session["missing"] += entering - 1
    session["highest"] += step
