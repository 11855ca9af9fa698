"""How often Python looks for garbage in processes that make very many objects."""

from __future__ import annotations

import gc

# The inventory of a large cluster makes a million objects that last to the end, a page of it hundreds of thousands that
# last until it is sent. Looking for garbage after every 700 new ones, as Python does by itself, takes as long as
# making them.
_OBJECTS = 50_000


def raise_gc_threshold() -> None:
    """From now on, look for garbage after 50,000 new objects, not after 700."""
    gc.set_threshold(_OBJECTS)
