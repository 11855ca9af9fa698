"""Kubernetes' training jobs that run: `kubectl get pods --all-namespaces -o json`.

A pod belongs to a training job if it asks for GPUs and some controller has labeled it with the name of its job. Pods
of one namespace and name are one job, wherever they run; the namespace is the tenant.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from flowprism.inventory_import.listing import InventoryListing, RunningJob

# The outermost controller first: a JobSet's or a Kubeflow job's pods are made through batch jobs.
JOB_LABELS = (
    "jobset.sigs.k8s.io/jobset-name",
    "training.kubeflow.org/job-name",
    "leaderworkerset.sigs.k8s.io/name",
    "volcano.sh/job-name",
    "ray.io/cluster",
    "batch.kubernetes.io/job-name",
    "job-name",
)
NOT_RUNNING = "pods that do not run"
NO_GPU = "pods without GPUs"
NO_JOB = "pods with GPUs that no job's label names"


def is_listing(document: object) -> bool:
    """Whether a JSON document is such a listing."""
    if not isinstance(document, dict) or document.get("kind") not in {"List", "PodList"}:
        return False
    items = document.get("items")
    return isinstance(items, list) and all(isinstance(item, dict) and "spec" in item for item in items)


def from_json(document: Mapping[str, Any]) -> InventoryListing:
    """What a listing of pods says."""
    found, nodes = InventoryListing(jobs=[]), dict[tuple[str, str], dict[str, None]]()
    starts, ends = dict[tuple[str, str], datetime](), dict[tuple[str, str], datetime]()
    for pod in document["items"]:
        meta, spec, status = pod.get("metadata", {}), pod.get("spec", {}), pod.get("status", {})
        labels = meta.get("labels") or {}
        name = next((labels[label] for label in JOB_LABELS if labels.get(label)), None)
        if status.get("phase") != "Running" or not spec.get("nodeName"):
            found.left_out[NOT_RUNNING] += 1
        elif not _asks_for_gpus(spec):
            found.left_out[NO_GPU] += 1
        elif name is None:
            found.left_out[NO_JOB] += 1
        else:
            key = (str(meta.get("namespace", "default")), str(name))
            nodes.setdefault(key, {})[str(spec["nodeName"])] = None
            if begun := _time(status.get("startTime")):
                starts[key] = min(begun, starts.get(key, begun))
                if end := _deadline(begun, spec):
                    ends[key] = min(end, ends.get(key, end))
    found.jobs = [
        RunningJob(key[1], "/".join(key), key[0], tuple(names), starts.get(key), ends.get(key))
        for key, names in nodes.items()
    ]
    return found


def _asks_for_gpus(spec: Mapping[str, Any]) -> bool:
    """GPUs are extended resources `VENDOR/gpu`, or parts of one such as `nvidia.com/mig-1g.10gb`."""
    for container in spec.get("containers", ()):
        limits = (container.get("resources") or {}).get("limits") or {}
        for name, amount in limits.items():
            kind = name.rpartition("/")[2]
            if "/" in name and (kind.startswith(("gpu", "mig-"))) and str(amount) not in {"", "0"}:
                return True
    return False


def _deadline(begun: datetime, spec: Mapping[str, Any]) -> datetime | None:
    """When Kubernetes ends a pod that began then."""
    seconds = spec.get("activeDeadlineSeconds")
    return begun + timedelta(seconds=seconds) if isinstance(seconds, int) else None


def _time(text: object) -> datetime | None:
    """A time as Kubernetes writes it, RFC 3339."""
    try:
        return datetime.fromisoformat(str(text)) if text else None
    except ValueError:
        return None
