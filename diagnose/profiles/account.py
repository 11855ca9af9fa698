"""One profile -> where each moment of its iterations went, charged once.

A moment belongs to the first of these that happens in it: a computing kernel (the one that began first), a copy,
communication, the host's function while the GPU has nothing to do, nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from capture.profiles.kernel_names import copy_direction, kernel_family
from datamodel.frame import Frame
from datamodel.telemetry.profiles import ANNOTATION, COMPUTE, COPY, OPERATOR, PYTHON, RUNTIME, Profile
from diagnose.profiles.collective_waits import UNKNOWN
from diagnose.profiles.intervals import EMPTY, Ints, Union, outermost_of_name, parents, trimmed, union_of

Seconds = npt.NDArray[np.float64]
Part = tuple[str, str]
TRANSFER, WAIT, UNSPLIT = ("transfer", ""), ("wait", ""), ("communication", "")
HOST, IDLE = ("host", ""), ("idle", "")
_ADDRESS = re.compile(r"(?: object)? at 0x[0-9a-f]+")


@dataclass(frozen=True, slots=True)
class Account:
    """Seconds of each iteration.

    Attributes:
        lasting_s: all of it.
        parts: by class and its part, each moment charged once.
        functions: of the host, with all that they call, while the GPU had nothing to do; one moment counts for several.
        spans: of the same functions, whatever the GPU did.
        kernels: how many computing kernels of each family an iteration has.
        transfer_ns: of each collective, the part of its transfer that nothing hides.
        step: of each collective, the iteration that it began in; -1 none.
    """

    lasting_s: Seconds
    parts: dict[Part, Seconds]
    functions: dict[str, Seconds]
    spans: dict[str, Seconds]
    kernels: dict[str, int]
    transfer_ns: Ints
    step: Ints

    @property
    def own_s(self) -> Seconds:
        """What neither waits for other ranks nor moves data between them."""
        return self.lasting_s - sum((self.parts[part] for part in (TRANSFER, WAIT, UNSPLIT)), np.zeros(1))

    def typical_s(self, part: Part) -> float:
        """Median over iterations."""
        return float(np.median(self.parts[part])) if part in self.parts else 0.0


@dataclass(frozen=True, slots=True)
class RankWork:
    """What a rank's own GPU and host did in each iteration, whatever other ranks did.

    Attributes:
        begin_ns, end_ns: of the iterations.
        parts, functions, spans, kernels: as of `Account`, without communication.
        taken: of each iteration, when the GPU computed or copied during collectives.
    """

    begin_ns: Ints
    end_ns: Ints
    parts: dict[Part, Seconds]
    functions: dict[str, Seconds]
    spans: dict[str, Seconds]
    kernels: dict[str, int]
    taken: tuple[Union, ...]


def work_of(profile: Profile) -> RankWork:
    """Charge every moment of a profile's iterations but those of communication."""
    rows = _Rows.of(profile)
    count = len(profile.steps)
    begin_ns, end_ns = profile.steps["start_ns"], profile.steps["end_ns"]
    tables: dict[str, dict[Part, Seconds]] = {"parts": {}, "functions": {}, "spans": {}, "kernels": {}}
    for part in (TRANSFER, WAIT, UNSPLIT, HOST, IDLE):
        tables["parts"][part] = np.zeros(count)
    taken = []
    for n in range(count):
        iteration = _Iteration(rows, int(begin_ns[n]), int(end_ns[n]))
        for table, part, value in iteration.charges():
            tables[table].setdefault(part, np.zeros(count))[n] += value
        taken.append(iteration.taken)
    return RankWork(
        begin_ns=begin_ns,
        end_ns=end_ns,
        parts=tables["parts"],
        functions={name: seconds for (_, name), seconds in tables["functions"].items()},
        spans={name: seconds for (_, name), seconds in tables["spans"].items()},
        kernels={family: int(np.median(counts)) for (_, family), counts in tables["kernels"].items()},
        taken=tuple(taken),
    )


def account_of(work: RankWork, collectives: Frame, waits_ns: Ints) -> Account:
    """Charge the rest of a rank's iterations.

    Args:
        work: of the rank.
        collectives: of its profile.
        waits_ns: of each collective, how long it waited for others at its begin; `UNKNOWN`: not to be split.
    """
    rows = _Collectives.of(collectives, waits_ns)
    parts = {part: np.zeros(len(work.taken)) for part in (TRANSFER, WAIT, UNSPLIT)}
    transfer_ns = np.zeros(len(waits_ns), np.int64)
    for n, taken in enumerate(work.taken):
        begin_ns, end_ns = int(work.begin_ns[n]), int(work.end_ns[n])
        near = _overlapping(rows.start_ns, rows.reach_ns, begin_ns, end_ns)
        split, arrived = rows.is_split[near], rows.arrived_ns[near]
        waited = _uncovered(*_cut(rows.begin_ns[near], arrived, begin_ns, end_ns), taken)
        moved = _uncovered(*_cut(arrived, rows.until_ns[near], begin_ns, end_ns), taken)
        transfer_ns[near] += np.where(split, moved, 0)
        parts[WAIT][n] = float(waited[split].sum()) / 1e9
        parts[TRANSFER][n] = float(moved[split].sum()) / 1e9
        parts[UNSPLIT][n] = float((waited + moved)[~split].sum()) / 1e9
    step = np.searchsorted(work.begin_ns, rows.start_ns, side="right") - 1
    inside = (step >= 0) & (rows.start_ns < work.end_ns[np.maximum(step, 0)])
    return Account(
        lasting_s=(work.end_ns - work.begin_ns) / 1e9,
        parts=work.parts | parts,
        functions=work.functions,
        spans=work.spans,
        kernels=work.kernels,
        transfer_ns=transfer_ns,
        step=np.where(inside, step, -1),
    )


def _cut(starts: Ints, ends: Ints, begin_ns: int, end_ns: int) -> tuple[Ints, Ints]:
    """Intervals, cut to a time range."""
    starts = np.clip(starts, begin_ns, end_ns)
    return starts, np.clip(ends, starts, np.maximum(starts, end_ns))


def _uncovered(starts: Ints, ends: Ints, taken: Union) -> Ints:
    """How much of each interval is not taken."""
    return ends - starts - taken.covered(starts, ends)


@dataclass(frozen=True, slots=True)
class _Labeled:
    """Activities of one sort in order of begin, each with the code of its label.

    `reach_ns` is until when those up to each one last.
    """

    start_ns: Ints
    end_ns: Ints
    reach_ns: Ints
    code: Ints
    labels: tuple[str, ...]

    @classmethod
    def of(cls, activities: Frame, names: tuple[str, ...], label: Callable[[str], str]) -> _Labeled:
        known: dict[str, int] = {}
        used, inverse = np.unique(activities["name"], return_inverse=True)
        codes = [known.setdefault(label(names[code]) if code >= 0 else "", len(known)) for code in used.tolist()]
        code = np.array(codes, np.int64)[inverse] if codes else np.zeros(0, np.int64)
        ends = activities["end_ns"]
        return cls(activities["start_ns"], ends, np.maximum.accumulate(ends), code, tuple(known))

    def within(self, begin_ns: int, end_ns: int) -> _Labeled:
        """What happens in a time range, cut to it."""
        near = _overlapping(self.start_ns, self.reach_ns, begin_ns, end_ns)
        inside = self.end_ns[near] > begin_ns
        starts = np.maximum(self.start_ns[near][inside], begin_ns)
        ends = np.minimum(self.end_ns[near][inside], end_ns)
        return _Labeled(starts, ends, self.reach_ns[near][inside], self.code[near][inside], self.labels)

    def sums(self, amounts: Ints) -> Iterator[tuple[str, float]]:
        """Labels that occur, with the sum of an amount."""
        totals = np.bincount(self.code, amounts, len(self.labels))
        present = np.unique(self.code).tolist()
        return ((self.labels[code], float(totals[code])) for code in present)


def _overlapping(starts: Ints, reach: Ints, begin_ns: int, end_ns: int) -> slice:
    """The rows, in order of begin, outside of which none overlaps a time range."""
    return slice(int(np.searchsorted(reach, begin_ns, side="right")), int(np.searchsorted(starts, end_ns)))


@dataclass(frozen=True, slots=True)
class _Collectives:
    """A profile's collectives in order of begin.

    Attributes:
        start_ns, end_ns: of each.
        reach_ns: until when those up to each one last.
        begin_ns, arrived_ns, until_ns: of the time that no earlier one has: it waits until it has arrived.
        is_split: whether it is known how long it waits.
    """

    start_ns: Ints
    end_ns: Ints
    reach_ns: Ints
    begin_ns: Ints
    arrived_ns: Ints
    until_ns: Ints
    is_split: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, collectives: Frame, waits_ns: Ints) -> _Collectives:
        starts, ends = collectives["start_ns"], collectives["end_ns"]
        begin_ns, until_ns = trimmed(starts, ends)
        is_split = waits_ns != UNKNOWN
        arrived = np.clip(starts + np.where(is_split, waits_ns, 0), begin_ns, until_ns)
        return cls(starts, ends, np.maximum.accumulate(ends), begin_ns, arrived, until_ns, is_split)


@dataclass(frozen=True, slots=True)
class _Rows:
    """A profile's kernels by family, copies by direction, the main thread's functions, and collectives."""

    kernels: _Labeled
    copies: _Labeled
    host: _Labeled
    collectives: _Labeled

    @classmethod
    def of(cls, profile: Profile) -> _Rows:
        activities, names = profile.activities, profile.names
        kind = activities["kind"]
        marks = np.array([*(name.startswith("ProfilerStep#") for name in names), False])
        on_host = np.isin(kind, (OPERATOR, PYTHON, ANNOTATION, RUNTIME)) & ~marks[activities["name"]]
        main = activities.take(on_host & (activities["thread"] == profile.main_thread))
        starts, ends = profile.collectives["start_ns"], profile.collectives["end_ns"]
        return cls(
            _Labeled.of(activities.take(kind == COMPUTE), names, kernel_family),
            _Labeled.of(activities.take(kind == COPY), names, copy_direction),
            _Labeled.of(main, names, lambda name: _ADDRESS.sub("", name)),
            _Labeled(starts, ends, np.maximum.accumulate(ends), np.zeros(len(starts), np.int64), ("",)),
        )


class _Iteration:
    """One iteration while its moments are charged.

    `taken`, once they are, is when the GPU computed or copied during collectives.
    """

    def __init__(self, rows: _Rows, begin_ns: int, end_ns: int) -> None:
        self._rows, self._begin_ns, self._end_ns = rows, begin_ns, end_ns
        self.taken = EMPTY

    def charges(self) -> Iterator[tuple[str, Part, float]]:
        """Table, part and seconds (or number) of all that is charged."""
        kernels = self._rows.kernels.within(self._begin_ns, self._end_ns)
        starts, ends = trimmed(kernels.start_ns, kernels.end_ns)
        for family, lasting_ns in kernels.sums(ends - starts):
            yield "parts", ("compute", family), lasting_ns / 1e9
        for family, number in kernels.sums(np.ones(len(starts), np.int64)):
            yield "kernels", ("kernels", family), number
        taken = union_of(kernels.start_ns, kernels.end_ns)
        copies = self._rows.copies.within(self._begin_ns, self._end_ns)
        starts, ends = trimmed(copies.start_ns, copies.end_ns)
        for direction, lasting_ns in copies.sums(ends - starts - taken.covered(starts, ends)):
            yield "parts", ("copy", direction), lasting_ns / 1e9
        taken = taken.joined(copies.start_ns, copies.end_ns)
        collectives = self._rows.collectives.within(self._begin_ns, self._end_ns)
        covered = union_of(collectives.start_ns, collectives.end_ns).covered(taken.start_ns, taken.end_ns)
        self.taken = Union(taken.start_ns[covered > 0], taken.end_ns[covered > 0])
        yield from self._host(taken.joined(collectives.start_ns, collectives.end_ns))

    def _host(self, taken: Union) -> Iterator[tuple[str, Part, float]]:
        host = self._rows.host.within(self._begin_ns, self._end_ns)
        covered = union_of(host.start_ns, host.end_ns)
        busy_ns = int(_uncovered(covered.start_ns, covered.end_ns, taken).sum())
        whole = np.array([self._begin_ns]), np.array([self._end_ns])
        yield "parts", HOST, busy_ns / 1e9
        yield "parts", IDLE, float(_uncovered(*whole, taken)[0] - busy_ns) / 1e9
        order = np.lexsort((-host.end_ns, host.start_ns))  # cutting may have changed it
        nested = _Labeled(host.start_ns[order], host.end_ns[order], host.reach_ns, host.code[order], host.labels)
        first = outermost_of_name(parents(nested.start_ns, nested.end_ns), nested.code)
        alone_ns = _uncovered(nested.start_ns, nested.end_ns, taken)
        for name, lasting_ns in nested.sums(np.where(first, alone_ns, 0)):
            yield "functions", ("function", name), lasting_ns / 1e9
        for name, lasting_ns in nested.sums(np.where(first, nested.end_ns - nested.start_ns, 0)):
            yield "spans", ("function", name), lasting_ns / 1e9
