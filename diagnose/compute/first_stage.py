"""Delays -> bounds of the compute of a pipeline's first stage, which nobody sends activations to."""

from __future__ import annotations

import numpy as np

from datamodel.reconstructed.streams import Float
from diagnose.compute.pass_times import PassDelays
from diagnose.compute.send_delays import SendDelays

# The backward pass computes two gradients for each product of the forward pass: it takes at least twice as long.
FORWARD_OF_BACKWARD = 0.5
# A stage stands out when its compute exceeds that of every other by this share.
STANDS_OUT = 0.1


def first_stage(
    messages: list[SendDelays],
    gradients: list[SendDelays],
    passes: PassDelays,
    others: tuple[Float, Float] | None,
) -> tuple[float, float]:
    """Least and most that the first stage computes for one micro-batch; nan where that is not seen.

    1. Once gradients come back, a backward and a forward pass lie between a gradient received and the activations
       sent. The send waits for the slowest stage of all, and for its message; where it comes clearly later than
       any of them takes, the first stage is that slowest one, and this its compute.
    2. Its last backward pass ends in its gradient collective, unless gradients are reduced while it runs; its forward
       pass takes at most half as long.
    3. Where they are: the activations it sends before the first gradient returns follow one another a forward pass
       apart, or as the next stage can take them. Where that is clearly more than any other's forward pass, it is
       its own, and its backward pass takes at least twice as long.

    Args:
        messages: between neighbouring stages.
        gradients: first sends of gradient collectives.
        passes: of all stages, in the iterations to judge.
        others: (stages - 1,) forward compute (0 of the last stage), and all compute, of the other stages; None where
            experts or contexts exchange something inside the passes, which hides how long those take.
    """
    count = passes.count
    sent = [k for k in messages if k.towards == 1]
    slack = message_ns(messages, passes)
    turn = passes.min_delay_ns([k for k in sent if k.slot >= count], 0)
    if others is not None and turn > (1 + STANDS_OUT) * (float(others[1].max()) + slack):
        return turn, turn
    backward, forward = passes.min_delay_ns(gradients[-1:], 0), passes.min_delay_ns(sent, 0)
    if backward < forward or overlaps(messages, gradients, passes):
        backward = float("nan")
        apart = passes.min_delay_ns([k for k in sent if 0 < k.slot < count - 1], 0)
        if others is not None and apart > (1 + STANDS_OUT) * (_forward_ns(*others) + slack):
            return (1 + 1 / FORWARD_OF_BACKWARD) * apart, (1 + 1 / FORWARD_OF_BACKWARD) * apart
    return backward, backward + min(forward, FORWARD_OF_BACKWARD * backward)


def _forward_ns(forward: Float, whole: Float) -> float:
    """The longest forward pass of the other stages; the last one's, which is not told apart, at the most it can be."""
    return max(float(forward.max()), float(whole[-1]) / (1 + 1 / FORWARD_OF_BACKWARD))


def message_ns(messages: list[SendDelays], passes: PassDelays) -> float:
    """How long activations take from the first stage to the second: until the delay of what those lead to begins."""
    stages, period = passes.stages, passes.period
    answer = {k.slot: k for k in messages if k.towards == (1 if passes.count > 2 else -1)}
    took = []
    for kind in messages:
        if kind.towards == 1 and kind.slot in answer:
            leads = answer[kind.slot]
            arrived = (leads.start_ns - leads.delay_ns)[stages == 1][:, period]
            gone = kind.start_ns[stages == 0][:, period]
            took.append(_middle(arrived) - _middle(gone))
    return max(_middle(np.array(took)), 0.0)


def _middle(values: Float) -> float:
    """Median of what is known; nan of nothing."""
    known = values[np.isfinite(values)]
    return float(np.median(known)) if len(known) else float("nan")


def overlaps(messages: list[SendDelays], gradients: list[SendDelays], passes: PassDelays) -> bool:
    """Whether gradients are reduced while the backward pass still runs: before a later stage sends its last message."""
    back = [k for k in messages if k.towards == -1]
    if not back or not gradients:
        return False
    later, period = passes.stages > 0, passes.period
    last = np.fmax.reduce([k.start_ns[later][:, period] for k in back])
    begins = np.fmin.reduce([k.start_ns[later][:, period] for k in gradients])
    ahead = (last - begins)[np.isfinite(last - begins)]
    return bool(len(ahead)) and float(np.median(ahead)) > 0
