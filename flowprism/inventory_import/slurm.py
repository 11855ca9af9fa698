"""Slurm's jobs that run: `squeue --json`, `scontrol show job --json`, or the text of `scontrol show job`.

The JSON of several versions is understood: a number is plain or `{"set": ..., "number": ...}`, a state a text or a
list, nodes stand at the job (`nodes`) or in `job_resources`. Only jobs that run now are of use: which of several jobs
that ran on the same nodes a window shows, would be unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from datamodel.errors import InputError
from flowprism.inventory_import.hostlists import names_of
from flowprism.inventory_import.listing import InventoryListing, RunningJob

RUNNING = frozenset({"RUNNING", "COMPLETING"})
NOT_RUNNING = "Slurm jobs that do not run"
NO_NODES = "Slurm jobs without nodes"
NO_ZONE = "start times without a time zone (SLURM_TIME_FORMAT=%s has one)"
_YEAR_10000_S = 253_402_300_800  # later times are none that Slurm plans
_ENDLESS = 0xFFFFFFFE  # minutes: NO_VAL and INFINITE of slurm.h
_NAME = re.compile(r"JobName=(.*?)(?=\s+UserId=|\s*$)", re.MULTILINE)
_FIELD = re.compile(r"(?:^|\s)([A-Za-z][\w:/-]*)=(\S*)")


def is_listing(document: object) -> bool:
    """Whether a JSON document is such a listing."""
    jobs = document.get("jobs") if isinstance(document, dict) else None
    return isinstance(jobs, list) and all(isinstance(job, dict) and "job_id" in job for job in jobs)


def from_json(document: Mapping[str, Any]) -> InventoryListing:
    """What a JSON listing says.

    Raises:
        InputError: a job's nodes cannot be read.
    """
    found = InventoryListing(jobs=[])
    for job in document["jobs"]:
        states = job.get("job_state", ())
        start = _number(job.get("start_time"))
        _add(
            found,
            {states} if isinstance(states, str) else set(states),
            _nodes(job),
            RunningJob(
                name=str(job.get("name") or job["job_id"]),
                id=str(job["job_id"]),
                tenant=job.get("account") or None,
                nodes=(),
                start=_time(start),
                end=_planned_end(job),
            ),
        )
    return found


def from_text(text: str) -> InventoryListing:
    """What `scontrol show job` says, with or without `--oneliner`.

    Raises:
        InputError: a job's nodes cannot be read.
    """
    found = InventoryListing(jobs=[])
    for block in _blocks(text):
        fields = dict(_FIELD.findall(block))
        name, start = _NAME.search(block), fields.get("StartTime", "")
        if start and not start.isdecimal() and start not in {"Unknown", "N/A"}:
            found.left_out[NO_ZONE] += 1
        account, nodes, end = fields.get("Account", ""), fields.get("NodeList", ""), fields.get("EndTime", "")
        job = RunningJob(
            name=(name[1] if name else "") or fields["JobId"],
            id=fields["JobId"],
            tenant=None if account in {"", "(null)"} else account,
            nodes=(),
            start=_time(int(start)) if start.isdecimal() else None,
            end=_time(int(end)) if end.isdecimal() else None,
        )
        _add(found, {fields.get("JobState", "")}, "" if nodes == "(null)" else nodes, job)
    return found


def _blocks(text: str) -> Iterator[str]:
    starts = [match.start() for match in re.finditer(r"^\s*JobId=", text, re.MULTILINE)]
    for begin, end in zip(starts, [*starts[1:], len(text)], strict=True):
        yield text[begin:end]


def _add(found: InventoryListing, states: set[str], nodes: str, job: RunningJob) -> None:
    if not states & RUNNING:
        found.left_out[NOT_RUNNING] += 1
    elif not nodes:
        found.left_out[NO_NODES] += 1
    elif found.jobs is not None:
        try:
            names = names_of(nodes)
        except InputError as error:
            raise InputError(f"job {job.id}: {error}") from None
        found.jobs.append(replace(job, nodes=names))


def _planned_end(job: Mapping[str, Any]) -> datetime | None:
    """When its time limit ends a job that runs; without one Slurm writes a time that is a year off."""
    limit, end = job.get("time_limit"), _number(job.get("end_time"))
    endless = limit["infinite"] if isinstance(limit, dict) and "infinite" in limit else _number(limit) >= _ENDLESS
    return None if endless else _time(end)


def _time(seconds: int) -> datetime | None:
    """A time, UTC; none for 0 and for what no calendar has."""
    return datetime.fromtimestamp(seconds, UTC) if 0 < seconds < _YEAR_10000_S else None


def _nodes(job: Mapping[str, Any]) -> str:
    """The host list of a job, wherever its version writes it."""
    held = job.get("job_resources")
    inner = held.get("nodes") if isinstance(held, dict) else None
    listed = inner.get("list") if isinstance(inner, dict) else inner
    for text in (job.get("nodes"), listed):
        if isinstance(text, str) and text:
            return text
    return ""


def _number(value: object) -> int:
    """A number as any version writes it; 0 where it is not set."""
    if isinstance(value, dict):
        value = value.get("number", 0) if value.get("set") else 0
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
