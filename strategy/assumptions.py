"""What of a layout rests on a convention and not on traffic, in words."""

from __future__ import annotations

from collections.abc import Mapping

from datamodel.reports.layout import Sizes
from strategy.placement import Seat
from strategy.posterior import Candidate

BY_CONVENTION = "tp: a factor that never leaves a host is attributed to tensor parallelism"
IN_STEP = "tp: endpoints that begin to send in the same moments are one tensor group"
ONE_GPU = "tp: each endpoint is one GPU, as one message leaves it at a time"
ONE_CONNECTION = "tp: each GPU behind a shared NIC sends its activations on one connection"
RANK_ORDER = "dp: replicas on one host pair their ranks in the order of their rails"
EXPERT_DEFAULT = "ep = 1: no all-to-all traffic was seen"
CONTEXT_DEFAULT = "cp = 1: no ring inside the gradient groups was seen"


def list_assumptions(sizes: Sizes, likeliest: Candidate, seats: Mapping[int, Seat]) -> tuple[str, ...]:
    """Conventions that the answered sizes rest on."""
    found = []
    inside, split = likeliest.inside, likeliest.split
    if sizes.tp is not None and inside is not None and split is not None:
        found += [BY_CONVENTION] if not split.by_movement and inside.rest * (inside.gpus or 1) > 1 else []
        found += [IN_STEP] if split.by_movement and split.local_size > 1 else []
        found += [ONE_CONNECTION] if (inside.gpus or 1) > 1 and inside.messages is not None else []
        found += [ONE_GPU] if not seats and inside.messages == 1 else []
        found += [RANK_ORDER] if seats and inside.rest > split.local_size > 1 else []
    found += [EXPERT_DEFAULT] if sizes.ep == 1 else []
    found += [CONTEXT_DEFAULT] if sizes.cp == 1 else []
    return tuple(found)
