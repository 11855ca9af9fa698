"""Delays -> compute of each pipeline stage, and whether one stage has more of it than the others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from datamodel.reconstructed.operations import FAMILY_SLOTS
from datamodel.reconstructed.streams import Float, Int
from diagnose.compute.first_stage import STANDS_OUT, first_stage, message_ns, overlaps
from diagnose.compute.pass_times import PassDelays, select_informative
from diagnose.compute.send_delays import DP, PP, SendDelays
from diagnose.compute.stragglers import READY_SHARE
from diagnose.model.uneven_work import EXCHANGES


@dataclass(frozen=True, slots=True)
class StageCompute:
    """Compute of each stage for one micro-batch, forward and backward.

    Attributes:
        least_ns, most_ns: (stages,) bounds; they differ for the first stage, whose forward pass is not seen apart from
            the optimizer step.
        micro_batches: messages a stage sends forward in an iteration.
        spread_ratio: how far one pass differs from the next of the same stage, the middle half of them.
        whole: whether passes are measured whole. Where tensor, context or expert groups exchange something over the
            fabric in each layer it is what follows the last exchange, which tells whether compute grew but not who has
            more of it.
    """

    least_ns: Float
    most_ns: Float
    micro_batches: int
    spread_ratio: float = 0.0
    whole: bool = True

    def heaviest(self) -> int | None:
        """The stage that has more compute than any other for certain; None where there is none.

        Where passes differ as much from one micro-batch to the next, stages do not differ. A stage of which next to
        nothing is seen had its messages ready: nor is it known then what others compute.
        """
        stage = int(np.argmax(self.least_ns))
        rest = np.delete(self.most_ns, stage)
        stands_out = self.least_ns[stage] > (1 + max(STANDS_OUT, self.spread_ratio)) * rest.max()
        seen = self.most_ns.min() >= READY_SHARE * self.least_ns[stage]
        return stage if self.whole and seen and stands_out else None

    def certainty(self, stage: int) -> float:
        """How likely a stage has more compute than any other, by how far single passes of one stage differ."""
        ahead = np.log(self.least_ns[stage] / np.delete(self.most_ns, stage).max())
        return float(ndtr(ahead / max(np.sqrt(2) * self.spread_ratio / (2 * ndtri(0.75)), 1e-9)))

    def slowdown_ratio(self, iteration_ns: float) -> float:
        """Iteration time over what it would be with the same compute spread evenly over the stages.

        A 1F1B pipeline takes the compute of every stage once and that of the slowest for each further micro-batch.
        """
        compute = self.most_ns
        if self.micro_batches * float(compute.max()) > iteration_ns:
            return 1.0  # no stage computes longer than the iteration lasts: what was measured is something else
        gain = (self.micro_batches - 1) * float(compute.max() - compute.mean())
        return iteration_ns / max(iteration_ns - gain, 0.1 * iteration_ns)


def stage_compute(kinds: tuple[SendDelays, ...], stages: Int, period: Int) -> StageCompute | None:
    """Measure each stage's compute from what its endpoints send after what they receive; None where that is not seen.

    Between a message received and the one it leads to lies the pass through the stage: forward towards the next stage,
    backward towards the one before, both at once at the last. Of several sends the quickest tells, because the others
    may have waited for their receiver. The first stage is a case of its own (`diagnose.compute.first_stage`).

    Stages of unequal size are no grid: the layout is not known well enough. An interleaved pipeline, whose last stage
    sends forward to the first, does not wait for receivers: what arrives while a pass is computed hides how long that
    takes. Every stage passes on every micro-batch: where some send fewer messages than others, several went together,
    and what set a pass going is not seen. In all these cases nothing is said.
    """
    passes = PassDelays(stages, period)
    count = passes.count
    messages = [k for k in kinds if k.role == PP and abs(k.towards) == 1 and passes.sends(k).any()]
    wraps = [k for k in kinds if k.role == PP and count > 2 and abs(k.towards) == count - 1]
    if count < 2 or not messages or len(wraps) > 2 or len(np.unique(np.bincount(stages))) > 1:
        return None
    if _went_together(messages, passes):
        return None
    gradients = [k for k in kinds if k.role == DP and k.slot % FAMILY_SLOTS == 0]
    back = _uninterrupted(messages, gradients, passes)
    forward, backward, steady = np.zeros(count), np.zeros(count), np.zeros(count)
    for stage in range(1, count):
        filling = passes.min_delay_ns(back, stage)
        # While the pipeline fills, the next batch arrives in the middle of a pass, which then looks shorter. Of a
        # single pass behind that nothing says that it did not wait for its receiver.
        full = select_informative(passes.delays([k for k in back if k.slot >= count - stage], stage))
        steady[stage] = min((one.median_ns for one in full), default=filling)
        backward[stage] = steady[stage] if len(full) > 1 else filling
        if stage < count - 1:
            forward[stage] = passes.min_delay_ns([k for k in messages if k.towards == 1], stage)
    least = forward + backward
    most = least.copy()
    alone = all(k.role in {PP, DP} for k in kinds)
    others = (forward[1:], (forward + steady)[1:]) if alone else None
    least[0], most[0] = first_stage(messages, gradients, passes, others)
    between = least[1 : count - 1]
    if len(between) and not 0.5 <= most[0] / float(np.median(between)) <= 2.0:
        least[0] = most[0] = float(np.median(between))
    if count == 2 and _closest_ns(messages, passes) < (1 - STANDS_OUT) * least[0]:
        return None
    if count == 2:
        most[1] = max(most[1], _last_pass_ns(messages, passes))
    elif not wraps:
        least[-1] = most[-1] = _busiest_last_ns(least, most, messages, passes)
    known = np.isfinite(least).all() and np.isfinite(most).all()
    batches = len({k.slot for k in messages if k.towards == 1})
    whole = all(k.role not in EXCHANGES for k in kinds)
    return StageCompute(least, most, batches, _spread(messages, passes), whole) if known else None


def _busiest_last_ns(least_ns: Float, most_ns: Float, messages: list[SendDelays], passes: PassDelays) -> float:
    """Compute of the last of three stages or more, where it is the slowest: then its input waits for it.

    Where sends do not wait for receivers, the next activations arrive in the middle of its pass, which looks shorter
    than any other stage's. But it never waits: its gradients follow one another at its own pace, slower than any other
    stage needs with its message.
    """
    rest = float(most_ns[:-1].max())
    back = sorted((k for k in messages if k.towards == -1), key=lambda k: k.slot)
    sent = np.array([k.start_ns[np.ix_(passes.stages == len(most_ns) - 1, passes.period)] for k in back])
    apart = np.diff(sent, axis=0)
    pace = float(np.nanmedian(apart)) if np.isfinite(apart).any() else 0.0
    slowest = (1 + STANDS_OUT) * (rest + message_ns(messages, passes))
    return pace if least_ns[-1] < least_ns[:-1].min() / (1 + STANDS_OUT) and pace > slowest else float(least_ns[-1])


def _uninterrupted(messages: list[SendDelays], gradients: list[SendDelays], passes: PassDelays) -> list[SendDelays]:
    """Messages back without the last, where gradients are reduced during the pass before it, which cuts that short."""
    back = sorted((k for k in messages if k.towards == -1), key=lambda k: k.slot)
    return back[:-1] if len(back) > 1 and overlaps(messages, gradients, passes) else back


def _last_pass_ns(messages: list[SendDelays], passes: PassDelays) -> float:
    """What the last of two stages takes before the last gradient of an iteration.

    It waits for nobody then: the first stage has nothing left to send. In an interleaved pipeline of two stages, of
    which nothing else shows what it is, that is a backward pass, and what is quicker was a forward one.
    """
    back = sorted((k for k in messages if k.towards == -1), key=lambda k: -k.slot)
    seen = passes.delays(back, 1)
    return seen[0].median_ns if seen else 0.0


def _closest_ns(messages: list[SendDelays], passes: PassDelays) -> float:
    """Least time between messages that the first stage sends forward once the pipeline is full; infinite of none."""
    full = [k for k in messages if k.towards == 1 and k.slot >= passes.count - 1]
    if len(full) < 2:
        return float("inf")
    starts = np.sort([k.start_ns[np.ix_(passes.stages == 0, passes.period)] for k in full], axis=0)
    apart = [a[np.isfinite(a)] for a in np.diff(starts, axis=0)]
    return min((float(np.median(a)) for a in apart if len(a)), default=float("inf"))


def _went_together(messages: list[SendDelays], passes: PassDelays) -> bool:
    """Whether some stages send fewer messages in most iterations than others."""
    sent = [sum((passes.sends(k) for k in messages if k.towards == way), np.zeros(passes.count)) for way in (1, -1)]
    return len({*sent[0][:-1].tolist(), *sent[1][1:].tolist()}) > 1


def _spread(messages: list[SendDelays], passes: PassDelays) -> float:
    """Width of the middle half of the delays before the quickest message each way, as a share of their median."""
    found = []
    for towards in (1, -1):
        way = [k for k in messages if k.towards == towards]
        for stage in range(passes.count):
            told = select_informative(passes.delays(way, stage))
            if told:
                quickest = min(told, key=lambda one: one.median_ns)
                low, middle, high = np.percentile(quickest.values_ns, [25, 50, 75])
                found.append(float(high - low) / max(float(middle), 1.0))
    return float(np.median(found)) if found else 0.0
