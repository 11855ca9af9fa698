"""The check of a sender in compiled loops; apart from its settings, which processes without compiled code read."""

from __future__ import annotations

from capture.jit import jit
from capture.receive.source_filter import Networks


@jit
def allows(allowed: Networks, high: int, low: int) -> bool:
    """Whether one of the networks holds the address."""
    for i in range(len(allowed)):
        if high & allowed[i, 2] == allowed[i, 0] and low & allowed[i, 3] == allowed[i, 1]:
            return True
    return False
