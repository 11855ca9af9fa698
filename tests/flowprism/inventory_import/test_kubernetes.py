"""Kubernetes' listings of pods."""

from __future__ import annotations

from flowprism.inventory_import import kubernetes
from tests.flowprism.inventory_import.listings import pod

KUBEFLOW = {"training.kubeflow.org/job-name": "llama", "training.kubeflow.org/replica-type": "worker"}
INNER = {"batch.kubernetes.io/job-name": "inner-0"}
JOBSET = {"jobset.sigs.k8s.io/jobset-name": "set", "job-name": "set-0"}


def test_pods_of_one_job() -> None:
    """By the outermost controller's label and the namespace; it began with its first pod."""
    pods = [
        pod("llama-0", "vision", "gpu01", KUBEFLOW | INNER, startTime="2026-01-01T00:05:00Z"),
        pod("llama-1", "vision", "gpu02", KUBEFLOW),
        pod("llama-2", "vision", "gpu02", KUBEFLOW),
        pod("x-0", "speech", "gpu03", KUBEFLOW),
        pod("set-0-0", "vision", "gpu04", JOBSET, resource="nvidia.com/mig-1g.10gb"),
    ]
    found = kubernetes.from_json({"kind": "List", "items": pods})
    assert found.jobs is not None
    assert [(job.name, job.id, job.tenant, job.nodes) for job in found.jobs] == [
        ("llama", "vision/llama", "vision", ("gpu01", "gpu02")),
        ("llama", "speech/llama", "speech", ("gpu03",)),
        ("set", "vision/set", "vision", ("gpu04",)),
    ]
    assert str(found.jobs[0].start) == "2026-01-01 00:00:00+00:00"
    assert not found.left_out


def test_the_earliest_deadline_of_a_jobs_pods_is_its_planned_end() -> None:
    """Pods without one have no end."""
    pods = [pod(f"llama-{n}", "vision", f"gpu0{n}", KUBEFLOW) for n in range(3)] + [pod("x", "b", "gpu04", KUBEFLOW)]
    for one, seconds in zip(pods, (7200, 3600), strict=False):
        one["spec"]["activeDeadlineSeconds"] = seconds
    found = kubernetes.from_json({"kind": "List", "items": pods})
    assert found.jobs is not None
    assert [str(job.end) for job in found.jobs] == ["2026-01-01 01:00:00+00:00", "None"]


def test_what_is_no_training() -> None:
    """Counted by why."""
    pods = [
        pod("done", "a", "gpu01", KUBEFLOW, phase="Succeeded"),
        pod("waiting", "a", None, KUBEFLOW, phase="Pending"),
        pod("web", "a", "cpu01", KUBEFLOW, gpus="0"),
        pod("disk", "a", "cpu01", KUBEFLOW, resource="example.com/disk"),
        pod("notebook", "a", "gpu01", {"app": "jupyter"}),
    ]
    found = kubernetes.from_json({"kind": "PodList", "items": pods})
    assert found.jobs == []
    assert found.left_out == {kubernetes.NOT_RUNNING: 2, kubernetes.NO_GPU: 2, kubernetes.NO_JOB: 1}
