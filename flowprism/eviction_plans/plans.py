"""Plans as text, for a user who holds the cluster's credentials: flowprism holds none and runs none of it."""

from __future__ import annotations

import json
import re
import shlex

from datamodel.reports.eviction import EvictionPlan, Orchestrator

# What hosts and jobs are called in Slurm and Kubernetes; anything else is no name that a command may hold.
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?")
_SLURM_JOB = re.compile(r"[0-9]+([_+][0-9]+)?")
REASON = "flowprism.io/reason"


def eviction_plans(host: str, incident: str, job: str | None = None, *, no_execute: bool = False) -> list[EvictionPlan]:
    """A plan for each orchestrator; none for a host whose name no orchestrator would take.

    Args:
        host: name of the node.
        incident: id, which the node's reason names.
        job: name of the job there, a Slurm id or what Kubernetes calls the workload; None unknown.
        no_execute: whether Kubernetes is to end the node's pods at once, rather than to send no others there.
    """
    if not _NAME.fullmatch(host):
        return []
    named = job if job is not None and _NAME.fullmatch(job) else None
    return [made(host, f"flowprism {incident}", named, no_execute) for made in (_slurm, _kubernetes, _volcano, _kueue)]


def _slurm(host: str, reason: str, job: str | None, _: bool) -> EvictionPlan:
    node = ["scontrol", "update", f"NodeName={host}"]
    apply = [shlex.join([*node, "State=DRAIN", f"Reason={reason}"])]
    if job is not None and _SLURM_JOB.fullmatch(job):
        apply.append(shlex.join(["scontrol", "requeue", job]))
    return EvictionPlan(orchestrator="slurm", apply=tuple(apply), undo=(shlex.join([*node, "State=RESUME"]),))


def _kubernetes(host: str, reason: str, _: str | None, no_execute: bool) -> EvictionPlan:
    taint = "flowprism.io/slow=true:NoExecute"
    apply = [_kubectl("cordon", host), _patch("node", host, {"metadata": {"annotations": {REASON: reason}}})]
    undo = [_patch("node", host, {"metadata": {"annotations": {REASON: None}}}), _kubectl("uncordon", host)]
    if no_execute:
        apply.append(_kubectl("taint", "nodes", host, taint))
        undo.insert(0, _kubectl("taint", "nodes", host, taint + "-"))
    return EvictionPlan(orchestrator="kubernetes", apply=tuple(apply), undo=tuple(undo))


def _volcano(host: str, reason: str, job: str | None, no_execute: bool) -> EvictionPlan:
    """The node is cordoned; a bus command restarts the job, which is placed elsewhere then. That cannot be undone."""
    plain = _kubernetes(host, reason, job, no_execute)
    restart = () if job is None else (shlex.join(["vcctl", "job", "suspend", "-N", job]),)
    again = () if job is None else (shlex.join(["vcctl", "job", "resume", "-N", job]),)
    return _made("volcano", (*plain.apply, *restart, *again), plain.undo)


def _kueue(host: str, reason: str, job: str | None, no_execute: bool) -> EvictionPlan:
    """The node is cordoned; a workload that is made inactive and active again is evicted and admitted again."""
    plain = _kubernetes(host, reason, job, no_execute)
    turns = () if job is None else (False, True)
    again = tuple(_patch("workload.kueue.x-k8s.io", str(job), {"spec": {"active": active}}) for active in turns)
    return _made("kueue", (*plain.apply, *again), plain.undo)


def _made(name: Orchestrator, apply: tuple[str, ...], undo: tuple[str, ...]) -> EvictionPlan:
    return EvictionPlan(orchestrator=name, apply=apply, undo=undo)


def _kubectl(*words: str) -> str:
    return shlex.join(["kubectl", *words])


def _patch(kind: str, name: str, change: object) -> str:
    return _kubectl("patch", kind, name, "--type=merge", "-p", json.dumps(change))
