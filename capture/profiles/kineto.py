"""What a trace's events mean: one rank's profile. Kineto writes them, for PyTorch on GPUs of any maker or on hosts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from capture.profiles.kernel_names import is_communication, is_host_communication
from capture.profiles.trace_file import TraceFile, printable
from capture.profiles.trace_scan import MISSING
from datamodel.errors import InputError
from datamodel.frame import Frame
from datamodel.telemetry.profiles import (
    ANNOTATION,
    COMMUNICATION,
    COMPUTE,
    COPY,
    OPERATOR,
    PROFILE_ACTIVITIES,
    PROFILE_COLLECTIVES,
    PROFILE_STEPS,
    PYTHON,
    RUNTIME,
    Profile,
)

Ints = npt.NDArray[np.int64]

# Kineto's categories in lower case (libkineto/src/ActivityType.cpp), and what older versions called them.
_KINDS = {
    "kernel": COMPUTE, "mtia_ccp_events": COMPUTE, "hpu_op": COMPUTE, "gpu_memcpy": COPY, "memcpy": COPY,
    "gpu_memset": COPY, "memset": COPY, "cpu_op": OPERATOR, "operator": OPERATOR, "python_function": PYTHON,
    "user_annotation": ANNOTATION, "runtime": RUNTIME, "cuda_runtime": RUNTIME, "cuda_driver": RUNTIME,
    "xpu_runtime": RUNTIME, "mtia_runtime": RUNTIME, "privateuse1_runtime": RUNTIME, "privateuse1_driver": RUNTIME,
}  # fmt: skip
_STEP = re.compile(r"ProfilerStep#(\d+)")
_OPTIMIZER_STEP = re.compile(r"Optimizer\.step#")
_HOST = re.compile(r"(.+)_\d+(?:\.\d+)?(?:\.pt\.trace)?\.json(?:\.gz|\.zst)?")
# An operator that only hands a collective on; its time is the collective's.
_HANDED_ON = re.compile(r"c10d::|record_param_comms|nccl:|gloo:")
# Times that count from 1970 are later than this (2001), those from a host's start are not.
_UTC_NS = 10**18


@dataclass(frozen=True, slots=True)
class _Events:
    """A trace's columns, and the kind of each row; -1: of no interest."""

    columns: Mapping[str, Ints]
    texts: list[str]
    kind: Ints
    start_ns: Ints

    @property
    def on_gpu(self) -> npt.NDArray[np.bool_]:
        """Whether an event is of a GPU's categories."""
        of_gpu = [_KINDS.get(text.lower(), OPERATOR) in {COMPUTE, COPY} for text in self.texts]
        return np.array([*of_gpu, False])[self.columns["cat"]]

    @property
    def end_ns(self) -> Ints:
        return self.start_ns + self.columns["dur"]

    def flagged(self, pattern: re.Pattern[str]) -> npt.NDArray[np.bool_]:
        """Per text, whether it begins with a pattern; one more that stands for no text."""
        return np.array([*(pattern.match(text) is not None for text in self.texts), False])


def profile_of(trace: TraceFile, name: str) -> Profile:
    """One rank's profile.

    Raises:
        InputError: it shows no GPU, no collective and no iteration.
    """
    base = trace.metadata.get("baseTimeNanoseconds", 0)
    start_ns = trace.columns["ts"] + (int(base) if isinstance(base, int | float) else 0)
    events = _Events(trace.columns, trace.texts, _kinds(trace), start_ns)
    steps, main_thread = _steps(events)
    shows = np.isin(events.kind, (COMPUTE, COPY, COMMUNICATION)).any()
    if not shows or not len(steps):
        raise InputError(f"{name}: shows no work of a training rank (the profile of a launcher or data worker?)")
    distributed = trace.metadata.get("distributedInfo")
    info: Mapping[str, Any] = distributed if isinstance(distributed, Mapping) else {}
    groups, collectives = _collectives(events, info)
    kept = np.flatnonzero(events.kind >= 0)
    kept = kept[np.lexsort((-events.end_ns[kept], start_ns[kept]))]
    return Profile(
        name=name,
        host=_host(trace.metadata, name),
        rank=_rank(info, groups),
        gpu=_gpu(events),
        world_size=_whole(info.get("world_size")),
        names=tuple(trace.texts),
        groups=groups,
        activities=Frame(
            PROFILE_ACTIVITIES,
            {
                "kind": events.kind[kept],
                "name": events.columns["name"][kept],
                "thread": events.columns["tid"][kept],
                "start_ns": start_ns[kept],
                "end_ns": events.end_ns[kept],
            },
        ),
        collectives=collectives,
        steps=steps,
        main_thread=main_thread,
        utc=bool(len(start_ns)) and int(start_ns.min()) > _UTC_NS,
    )


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _rank(info: Mapping[str, Any], groups: Sequence[tuple[int, ...] | str]) -> int | None:
    """The rank that the file gives, else the only one that is in all of its groups."""
    stated = _whole(info.get("rank"))
    listed = [set(group) for group in groups if isinstance(group, tuple)]
    common = set.intersection(*listed) if listed else set()
    return next(iter(common)) if stated is None and len(common) == 1 else stated


def _gpu(events: _Events) -> int | None:
    """The GPU that most kernels ran on."""
    devices = events.columns["pid"][np.isin(events.kind, (COMPUTE, COPY)) & events.on_gpu]
    if not len(devices) or not (devices >= 0).all():
        return None
    device = events.texts[int(np.bincount(devices).argmax())]
    return int(device) if device.isdecimal() else None


def _host(metadata: Mapping[str, Any], name: str) -> str | None:
    """The recording host: as the trace says, else as the file names of PyTorch and of `flowprism profile plan` do."""
    stated = metadata.get("host_name", metadata.get("hostname"))
    if isinstance(stated, str):
        return printable(stated)
    found = _HOST.fullmatch(name.rpartition("/")[2])
    return found.group(1) if found else None


def _kinds(trace: TraceFile) -> Ints:
    """The kind of each event. A job without GPUs computes, and communicates, in operators of its hosts."""
    texts = trace.texts
    by_category = np.array([*(_KINDS.get(text.lower(), -1) for text in texts), -1])
    kind = by_category[trace.columns["cat"]]
    communicates = np.array([*(is_communication(text) for text in texts), False])[trace.columns["name"]]
    kind[(kind == COMPUTE) & communicates] = COMMUNICATION
    if not np.isin(kind, (COMPUTE, COMMUNICATION)).any():
        on_host = np.array([*(is_host_communication(text) for text in texts), False])[trace.columns["name"]]
        hands_on = np.array([*(_HANDED_ON.match(text) is not None for text in texts), False])[trace.columns["name"]]
        kind[(kind == OPERATOR) & ~hands_on] = COMPUTE
        kind[(kind == ANNOTATION) & on_host] = COMMUNICATION
    return kind


def _steps(events: _Events) -> tuple[Frame, int]:
    """Iterations, and the thread that runs them: as the profiler marks them, between ends of optimizers, or one."""
    names, thread = events.columns["name"], events.columns["tid"]
    marked = np.flatnonzero((events.kind == ANNOTATION) & events.flagged(_STEP)[names])
    if len(marked):
        found = [_STEP.match(events.texts[code]) for code in names[marked].tolist()]
        number = np.array([int(match.group(1)) if match else 0 for match in found])
        order = np.argsort(number, kind="stable")
        marked = marked[order]
        return _step_frame(number[order], events.start_ns[marked], events.end_ns[marked]), int(thread[marked[0]])
    optimized = np.flatnonzero((events.kind == ANNOTATION) & events.flagged(_OPTIMIZER_STEP)[names])
    optimized = optimized[names[optimized] == names[optimized[0]]] if len(optimized) else optimized
    if len(optimized) > 1:
        ends = np.sort(events.end_ns[optimized])
        return _step_frame(np.arange(len(ends) - 1), ends[:-1], ends[1:]), int(thread[optimized[0]])
    work = np.flatnonzero(np.isin(events.kind, (COMPUTE, COPY, COMMUNICATION)))
    if not len(work):
        return _step_frame(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64)), -1
    whole = _step_frame(np.zeros(1), events.start_ns[work].min()[None], events.end_ns[work].max()[None])
    return whole, _busiest_thread(events)


def _step_frame(number: npt.ArrayLike, start_ns: npt.ArrayLike, end_ns: npt.ArrayLike) -> Frame:
    steps = Frame(PROFILE_STEPS, {"number": number, "start_ns": start_ns, "end_ns": end_ns})
    return steps.take(steps["end_ns"] > steps["start_ns"])


def _busiest_thread(events: _Events) -> int:
    """The thread of the host with the most events of the most detailed kind."""
    for kind in (PYTHON, OPERATOR, RUNTIME):
        threads = events.columns["tid"][events.kind == kind]
        if len(threads):
            return int(np.bincount(threads[threads >= 0]).argmax())
    return -1


def _collectives(events: _Events, info: Mapping[str, Any]) -> tuple[tuple[tuple[int, ...] | str, ...], Frame]:
    """Communication with its group: as the event's arguments say, else as those of the operators in the same order."""
    columns = events.columns
    rows = np.flatnonzero(events.kind == COMMUNICATION)
    rows = rows[np.argsort(events.start_ns[rows], kind="stable")]
    said = rows.copy()
    if not (columns["op"][rows] >= 0).any():
        stated = np.flatnonzero((columns["op"] >= 0) & (columns["size"] != 1))
        stated = stated[np.argsort(events.start_ns[stated], kind="stable")]
        said = stated if len(stated) == len(rows) else rows
    known = {str(one.get("pg_name")): one.get("ranks") for one in info.get("pg_config", ()) if isinstance(one, Mapping)}
    pairs, group = np.unique(np.stack([columns["group"][said], columns["ranks"][said]]), axis=1, return_inverse=True)
    groups = tuple(_members(events.texts, name, ranks, known) for name, ranks in pairs.T.tolist())
    operation = columns["op"][said]
    elements = np.maximum(columns["sent"][said], columns["got"][said])
    frame = Frame(
        PROFILE_COLLECTIVES,
        {
            "group": group.reshape(-1),
            "operation": np.where(operation >= 0, operation, columns["name"][rows]),
            "start_ns": events.start_ns[rows],
            "end_ns": events.end_ns[rows],
            "elements": np.where(elements == MISSING, 0, elements),
        },
    )
    return groups, frame


def _members(texts: list[str], name: int, ranks: int, known: Mapping[str, Any]) -> tuple[int, ...] | str:
    """Ranks of a group: long lists are cut short in events, and whole in what the file says of the job."""
    label = texts[name] if name >= 0 else ""
    listed = texts[ranks] if ranks >= 0 else ""
    if re.fullmatch(r"\[[\d,\s]+\]", listed):
        return tuple(int(rank) for rank in re.findall(r"\d+", listed))
    whole = known.get(label)
    if isinstance(whole, list) and whole and all(isinstance(rank, int) for rank in whole):
        return tuple(whole)
    return label
