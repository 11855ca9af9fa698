"""From outcomes to figures: shares, means and rates over cases, each with its interval."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from datamodel.document import Document
from datamodel.reconstructed.streams import Float
from flowprism.evaluation.intervals import bootstrap, poisson_upper, wilson
from flowprism.evaluation.outcome import Outcome
from flowprism.evaluation.trial import Trial

# Name of each figure -> what it is. Those of `LOWER` are better the smaller they are.
MEANINGS = {
    "jobs_exact": "share of cases whose jobs are found with exactly their endpoints, and no others",
    "layout_exact": "share of answered layouts that are right in every known size",
    "layout_wrong": "share of all layouts with a size answered wrongly",
    "layout_open": "share of all layouts with nothing wrong and a size left open (null, or the job not found)",
    "groups": "mean F1 of 'these two share a process group'",
    "stages": "mean share of pipeline chains in the right order",
    "iterations": "mean F1 of iteration ends found",
    "timeline_error": "mean relative error of the iteration time, over all iterations found",
    "timeline_p99": "99th percentile of it",
    "predicted": "mean over cases of the error that reports predict, over the one seen",
    "coverage": "share of iterations whose error lies in the 95 % interval that the prediction gives",
    "shown_right": "as `layout_exact`, of layouts that their feed is said to show",
    "shown_answered": "share of the layouts that their feed is said to show with every known size answered",
    "shown_in_set": "as `in_set`, of faults that their feed is said to show",
    "shown_alone": "as `alone`, of faults that their feed is said to show",
    "hidden_claims": "layouts with a size and loud findings of what a feed is said to hide, for each such statement",
    "noticed": "share of faults with any finding about their job that is not over before they begin",
    "located": "share of faults with an accepted subject, whatever the kind; one of n suspects counts 1/n",
    "faults": "share of faults rightly named and located; one of n suspects counts 1/n",
    "in_set": "share of faults whose truth is the subject or among the suspects of a finding of their syndrome",
    "alone": "share of faults that such a finding names, and no other subject",
    "syndrome": "share of faults of whose job the gravest finding is of their syndrome",
    "crossed": "share of faults for which compute is blamed in place of a link, or a link in place of compute",
    "precision": "share of warnings and critical findings that a fault explains",
    "onset": "mean distance of a named fault's start from the truth, iterations",
    "duplicates": "further findings of a fault that is already explained, for each fault",
    "false_per_10k": "false warnings and critical findings in 10,000 iterations of jobs without a fault",
    "delay_iterations": "mean time from a fault to the first window that names it, iterations",
    "delay_s": "the same in seconds",
    "delay_never": "share of faults measured for it that no window named",
}
LOWER = frozenset(MEANINGS) - {
    "jobs_exact", "layout_exact", "groups", "stages", "iterations", "noticed", "located", "faults", "precision",
    "coverage", "in_set", "alone", "syndrome", "shown_right", "shown_answered", "shown_in_set", "shown_alone",
}  # fmt: skip
_PER, _TAIL_DRAWS = 10_000, 200


class Metric(Document):
    """A figure, the interval that holds it at 95 %, and how many cases, jobs, iterations or faults it rests on."""

    value: float
    low: float
    high: float
    of: int


def compute_metrics(trials: Sequence[Trial], method: str) -> dict[str, Metric]:
    """All figures that some of the trials have something to say about."""
    outcomes = [t.outcome.methods[method] for t in trials if method in t.outcome.methods]
    made = _layouts(outcomes) | _means(outcomes) | _timeline(trials, method) | _findings(outcomes) | _delays(outcomes)
    made |= _predictions(outcomes) | _shown(outcomes)
    made["jobs_exact"] = _share(sum(o.jobs_exact for o in outcomes), len(outcomes))
    return {name: _rounded(made[name]) for name in MEANINGS if name in made and made[name].of}


def is_better(name: str, new: float, old: float) -> bool:
    """Whether a figure improved."""
    return new < old if name in LOWER else new > old


def _share(hits: float, of: int) -> Metric:
    low, high = wilson(hits, of)
    return Metric(value=hits / of if of else 0.0, low=low, high=high, of=of)


def _layouts(outcomes: Sequence[Outcome]) -> dict[str, Metric]:
    exact, wrong, left = (
        sum(getattr(o, name) for o in outcomes) for name in ("layouts_exact", "layouts_wrong", "layouts_open")
    )
    every = exact + wrong + left
    return {
        "layout_exact": _share(exact, exact + wrong),
        "layout_wrong": _share(wrong, every),
        "layout_open": _share(left, every),
    }


def _shown(outcomes: Sequence[Outcome]) -> dict[str, Metric]:
    """Of layouts and faults that the report's detectability says are shown, and claims of what it says is hidden."""
    exact, wrong, left = (sum(getattr(o, f"shown_{name}") for o in outcomes) for name in ("exact", "wrong", "open"))
    faults = [fault for o in outcomes for fault in o.faults if fault.shown]
    hidden = sum(o.hidden for o in outcomes)
    return {
        "shown_right": _share(exact, exact + wrong),
        "shown_answered": _share(exact + wrong, exact + wrong + left),
        **{f"shown_{name}": _share(sum(getattr(f, name) for f in faults), len(faults)) for name in ("in_set", "alone")},
        "hidden_claims": _share(min(sum(o.hidden_claims for o in outcomes), hidden), hidden),
    }


def _means(outcomes: Sequence[Outcome]) -> dict[str, Metric]:
    onsets = [f.onset_iterations for o in outcomes for f in o.faults if f.onset_iterations is not None]
    found = {"onset": _mean(onsets)}
    for name in ("groups", "stages", "iterations"):
        found[name] = _mean([value for o in outcomes if (value := getattr(o, name)) is not None])
    return found


def _mean(values: Sequence[float]) -> Metric:
    low, high = bootstrap(values)
    return Metric(value=float(np.mean(values)) if values else 0.0, low=low, high=high, of=len(values))


def _timeline(trials: Sequence[Trial], method: str) -> dict[str, Metric]:
    """Over iterations; the intervals are over cases, whose iterations err together."""
    each = [np.asarray(t.errors[method]) for t in trials if t.errors.get(method)]
    if not each:
        return {}
    every = np.concatenate(each)
    low, high = bootstrap([float(e.mean()) for e in each], [float(len(e)) for e in each])
    last = float(np.quantile(every, 0.99))
    ends = _tail(each)
    return {
        "timeline_error": Metric(value=float(every.mean()), low=low, high=high, of=len(every)),
        "timeline_p99": Metric(value=last, low=ends[0], high=ends[1], of=len(every)),
    }


def _predictions(outcomes: Sequence[Outcome]) -> dict[str, Metric]:
    both = [(o.predicted_error, o.predicted_seen) for o in outcomes]
    ratios = [predicted / seen for predicted, seen in both if predicted is not None and seen]
    covered, of = sum(o.covered for o in outcomes), sum(o.interval_iterations for o in outcomes)
    return {"predicted": _mean(ratios), "coverage": _share(covered, of)}


def _tail(each: Sequence[Float]) -> tuple[float, float]:
    """95 % interval of the 99th percentile of all iterations, over resampled cases."""
    random = np.random.default_rng(len(each))
    drawn = [random.integers(0, len(each), len(each)) for _ in range(_TAIL_DRAWS)]
    tails = [np.quantile(np.concatenate([each[n] for n in some]), 0.99) for some in drawn]
    low, high = np.percentile(tails, (2.5, 97.5))
    return float(low), float(high)


def _findings(outcomes: Sequence[Outcome]) -> dict[str, Metric]:
    faults = [fault for o in outcomes for fault in o.faults]
    loud, false = sum(o.loud for o in outcomes), sum(o.false for o in outcomes)
    clean, wrong = sum(o.clean_iterations for o in outcomes), sum(o.clean_false for o in outcomes)
    rate = _PER / clean if clean else 0.0
    return {
        "noticed": _share(sum(f.noticed for f in faults), len(faults)),
        "located": _share(sum(f.located for f in faults), len(faults)),
        "faults": _share(sum(f.named for f in faults), len(faults)),
        **{
            name: _share(sum(getattr(f, name) for f in faults), len(faults))
            for name in ("in_set", "alone", "syndrome", "crossed")
        },
        "precision": _share(loud - false, loud),
        "duplicates": _share(min(sum(o.duplicates for o in outcomes), len(faults)), len(faults)),
        "false_per_10k": Metric(value=wrong * rate, low=0.0, high=poisson_upper(wrong) * rate, of=clean),
    }


def _delays(outcomes: Sequence[Outcome]) -> dict[str, Metric]:
    measured = [o.delay for o in outcomes if o.delay is not None]
    named = [d for d in measured if d.iterations is not None and d.seconds is not None]
    return {
        "delay_iterations": _mean([d.iterations for d in named if d.iterations is not None]),
        "delay_s": _mean([d.seconds for d in named if d.seconds is not None]),
        "delay_never": _share(len(measured) - len(named), len(measured)),
    }


def _rounded(figure: Metric) -> Metric:
    return Metric(of=figure.of, **{name: float(f"{getattr(figure, name):.6g}") for name in ("value", "low", "high")})
