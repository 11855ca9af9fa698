"""Plans as text, for a user who holds the cluster's credentials: flowprism holds none and runs none of it."""

from __future__ import annotations

import json
import re
import shlex
from typing import NamedTuple

from datamodel.reports.eviction import EvictionPlan, Orchestrator

# What hosts and jobs are called in Slurm and Kubernetes; anything else is no name that a command may hold.
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?")
_SLURM_JOB = re.compile(r"[0-9]+([_+][0-9]+)?")
REASON = "flowprism.io/reason"
_WORKLOADS = "workloads.kueue.x-k8s.io"


def eviction_plans(host: str, incident: str, job: str | None = None, *, no_execute: bool = False) -> list[EvictionPlan]:
    """A plan for each orchestrator; none for a host whose name no orchestrator would take.

    Args:
        host: name of the node.
        incident: id, which the node's reason names.
        job: a Slurm id, or the name of what Kubernetes runs, after its namespace and a slash if that is known; None
            unknown.
        no_execute: whether Kubernetes is to end the node's pods at once, rather than to send no others there.
    """
    if not _NAME.fullmatch(host):
        return []
    parts = [] if job is None else job.split("/", 1)
    named = (
        _Job(parts[-1], parts[0] if len(parts) > 1 else None) if all(map(_NAME.fullmatch, parts)) and parts else None
    )
    return [made(host, f"flowprism {incident}", named, no_execute) for made in (_slurm, _kubernetes, _volcano, _kueue)]


class _Job(NamedTuple):
    name: str
    namespace: str | None


def _slurm(host: str, reason: str, job: _Job | None, _: bool) -> EvictionPlan:
    node = ["scontrol", "update", f"NodeName={host}"]
    apply = [shlex.join([*node, "State=DRAIN", f"Reason={reason}"])]
    if job is not None and job.namespace is None and _SLURM_JOB.fullmatch(job.name):
        apply.append(shlex.join(["scontrol", "requeue", job.name]))
    return EvictionPlan(orchestrator="slurm", apply=tuple(apply), undo=(shlex.join([*node, "State=RESUME"]),))


def _kubernetes(host: str, reason: str, _: _Job | None, no_execute: bool) -> EvictionPlan:
    taint = "flowprism.io/slow=true:NoExecute"
    apply = [_kubectl("cordon", host), _kubectl("patch", "node", host, *_merged(_annotation(reason)))]
    undo = [_kubectl("patch", "node", host, *_merged(_annotation(None))), _kubectl("uncordon", host)]
    if no_execute:
        apply.append(_kubectl("taint", "nodes", host, taint))
        undo.insert(0, _kubectl("taint", "nodes", host, taint + "-"))
    return EvictionPlan(orchestrator="kubernetes", apply=tuple(apply), undo=tuple(undo))


def _volcano(host: str, reason: str, job: _Job | None, no_execute: bool) -> EvictionPlan:
    """The node is cordoned; a bus command restarts the job, which is placed elsewhere then. That cannot be undone."""
    plain = _kubernetes(host, reason, job, no_execute)
    verbs = () if job is None else ("suspend", "resume")
    turns = tuple(shlex.join(["vcctl", "job", verb, "-N", str(job and job.name), *_namespace(job)]) for verb in verbs)
    return _made("volcano", (*plain.apply, *turns), plain.undo)


def _kueue(host: str, reason: str, job: _Job | None, no_execute: bool) -> EvictionPlan:
    """The node is cordoned; a workload that is made inactive and active again is evicted and admitted again.

    Kueue names a workload after its job and a hash, so it is looked up by its owner.
    """
    plain = _kubernetes(host, reason, job, no_execute)
    if job is None:
        return _made("kueue", plain.apply, plain.undo)
    owned = f'{{.items[?(@.metadata.ownerReferences[0].name=="{job.name}")].metadata.name}}'
    found = _kubectl("get", _WORKLOADS, *_namespace(job), "-o", f"jsonpath={owned}")
    patched = [_kubectl(*_namespace(job), *_merged({"spec": {"active": active}})) for active in (False, True)]
    turns = (one.replace("kubectl", f'kubectl patch {_WORKLOADS} "$({found})"', 1) for one in patched)
    return _made("kueue", (*plain.apply, *turns), plain.undo)


def _made(name: Orchestrator, apply: tuple[str, ...], undo: tuple[str, ...]) -> EvictionPlan:
    return EvictionPlan(orchestrator=name, apply=apply, undo=undo)


def _kubectl(*words: str) -> str:
    return shlex.join(["kubectl", *words])


def _namespace(job: _Job | None) -> tuple[str, ...]:
    return () if job is None or job.namespace is None else (f"--namespace={job.namespace}",)


def _annotation(reason: str | None) -> object:
    return {"metadata": {"annotations": {REASON: reason}}}


def _merged(change: object) -> tuple[str, ...]:
    return "--type=merge", "-p", json.dumps(change)
