"""Bytes that members of a ring sent in a collective that never ended -> which of them did not go on."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from datamodel.reconstructed.streams import Float
from diagnose.hangs.ring_order import ring_order

# In smaller rings members that were killed while they took turns may stand in this order by chance.
FEWEST = 8
# Steps move chunks of one length, but for ready messages among them.
ALIKE = 0.5


def find_stalled_member(sent_bytes: Mapping[tuple[int, int], float]) -> int | None:
    """The member of a ring that stopped while all others went on as far as they could; None where they did not.

    A step sends what the step before brought. When one member stops, its successor still sends what it has, the next
    one a step more, and so on; whoever sends only when the next is ready gets a step less far for each hop nearer to
    the one that stopped. So from that one on each has sent one step more than the one before, and may have sent less
    again towards it. Members of a ring that was killed are at steps of their own.

    Args:
        sent_bytes: (sender, receiver) -> bytes sent in the unfinished collective.
    """
    order = ring_order(sent_bytes.keys())
    if len(order) < FEWEST:
        return None
    sent = np.array([sent_bytes[pair] for pair in zip(order, [*order[1:], order[0]], strict=True)])
    least = int(sent.argmin())
    further = np.diff(np.roll(sent, -least), append=sent[least])
    return order[least] if _one_step_each(further) else None


def _one_step_each(further: Float) -> bool:
    """Whether members send one step more each, and from some one on ever less."""
    turn = int(np.argmax(further <= 0))
    rising, falling = further[:turn], further[turn:]
    step = float(np.median(rising)) if turn else 0.0
    alike = bool((np.abs(rising - step) < ALIKE * step).all())
    return turn >= len(further) // 2 and alike and bool((falling[1:] < 0).all())  # of an odd number two get as far
