"""Plans run as they are printed: by a Slurm that checks its arguments, and on nodes that Kubernetes' schemas accept."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest

from datamodel.reports.eviction import EvictionPlan
from flowprism.eviction_plans.plans import REASON, eviction_plans

SCONTROL = """
import json, pathlib, re, sys
verb, *rest = sys.argv[1:]
if verb == "requeue":
    assert len(rest) == 1 and re.fullmatch("[0-9]+([_+][0-9]+)?", rest[0]), rest
else:
    assert verb == "update", verb
    said = dict(word.split("=", 1) for word in rest)
    assert set(said) <= {"NodeName", "State", "Reason"} and re.fullmatch("[A-Za-z0-9._-]+", said["NodeName"]), said
    assert said["State"] in {"DRAIN", "RESUME"}, said
    assert ("Reason" in said) == (said["State"] == "DRAIN"), said
log = pathlib.Path(__file__).with_suffix(".log")
log.write_text((log.read_text() if log.exists() else "") + json.dumps(sys.argv[1:]) + "\\n")
"""


ARGUMENTS = """
import json, pathlib, sys
log = pathlib.Path(__file__).parent / "fake.log"
said = [pathlib.Path(sys.argv[1]).name, *sys.argv[2:]]
log.write_text(log.read_text() + json.dumps(said) + "\\n")
if sys.argv[2] == "get":
    print("job-llama-0a1b2", end="")
"""


def plans(*, no_execute: bool = False, job: str | None = "4711") -> dict[str, EvictionPlan]:
    """By orchestrator."""
    return {plan.orchestrator: plan for plan in eviction_plans("gpu-07", "inc-1", job, no_execute=no_execute)}


def test_slurm_takes_every_command_and_its_undo(tmp_path: Path) -> None:
    """Drain with a reason, requeue, resume."""
    (tmp_path / "fake.py").write_text(SCONTROL)
    script = f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {tmp_path}/fake.py "$@"\n'
    (tmp_path / "scontrol").write_text(script)
    (tmp_path / "scontrol").chmod(0o700)
    plan = plans()["slurm"]
    for command in (*plan.apply, *plan.undo):
        subprocess.run(["/bin/sh", "-c", command], check=True, env={"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    said = [json.loads(line) for line in (tmp_path / "fake.log").read_text().splitlines()]
    assert said == [
        ["update", "NodeName=gpu-07", "State=DRAIN", "Reason=flowprism inc-1"],
        ["requeue", "4711"],
        ["update", "NodeName=gpu-07", "State=RESUME"],
    ]
    assert not any("requeue" in command for command in plans(job="llama-70b")["slurm"].apply)


def run(folder: Path, commands: tuple[str, ...]) -> list[list[str]]:
    """Program and arguments of each that a shell makes of some commands."""
    (folder / "fake.py").write_text(ARGUMENTS)
    for name in ("kubectl", "vcctl"):
        (folder / name).write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {folder}/fake.py "$0" "$@"\n')
        (folder / name).chmod(0o700)
    (folder / "fake.log").write_text("")
    for command in commands:
        subprocess.run(["/bin/sh", "-c", command], check=True, env={"PATH": f"{folder}:{os.environ['PATH']}"})
    return [json.loads(line) for line in (folder / "fake.log").read_text().splitlines()]


@pytest.mark.parametrize("no_execute", [False, True])
@pytest.mark.parametrize("orchestrator", ["kubernetes", "volcano", "kueue"])
def test_kubernetes_accepts_the_node_and_undo_gives_it_back(
    tmp_path: Path, orchestrator: str, *, no_execute: bool
) -> None:
    """Cordoned with a reason; a taint that ends pods only where one asks for it."""
    plan = plans(no_execute=no_execute)[orchestrator]
    node: dict[str, Any] = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "gpu-07"}, "spec": {}}
    before = json.dumps(node)
    for program, verb, *rest in run(tmp_path, plan.apply):
        if program == "kubectl" and "workloads.kueue.x-k8s.io" not in rest:
            _kubectl(node, verb, rest)
    kubernetes_validate.validate(node, kubernetes_validate.latest_version(), strict=True)
    assert node["spec"]["unschedulable"]
    assert node["metadata"]["annotations"] == {REASON: "flowprism inc-1"}
    assert ("taints" in node["spec"]) == no_execute
    for _, verb, *rest in run(tmp_path, plan.undo):
        _kubectl(node, verb, rest)
    assert json.dumps(node) == before


@pytest.mark.parametrize(("job", "namespace"), [("llama", []), ("ml/llama", ["--namespace=ml"])])
def test_the_job_is_placed_again_in_its_namespace(tmp_path: Path, job: str, namespace: list[str]) -> None:
    """Volcano's by its name, Kueue's by the workload that it owns; Slurm has no such job to requeue."""
    made = plans(job=job)
    assert len(made["slurm"].apply) == 1
    assert run(tmp_path, made["volcano"].apply)[-2:] == [
        ["vcctl", "job", verb, "-N", "llama", *namespace] for verb in ("suspend", "resume")
    ]
    workloads, owned = "workloads.kueue.x-k8s.io", '.items[?(@.metadata.ownerReferences[0].name=="llama")]'
    asked = ["kubectl", "get", workloads, *namespace, "-o", f"jsonpath={{{owned}.metadata.name}}"]
    patch = ["kubectl", "patch", workloads, "job-llama-0a1b2", *namespace, "--type=merge", "-p"]
    patched = [[*patch, f'{{"spec": {{"active": {is_on}}}}}'] for is_on in ("false", "true")]
    assert run(tmp_path, made["kueue"].apply)[-4:] == [asked, patched[0], asked, patched[1]]


def _kubectl(node: dict[str, Any], verb: str, rest: list[str]) -> None:
    """Do to a node what a command says."""
    if verb in {"cordon", "uncordon"}:
        assert rest == ["gpu-07"]
        node["spec"].pop("unschedulable", None)
        if verb == "cordon":
            node["spec"]["unschedulable"] = True
    elif verb == "taint":
        assert rest[:2] == ["nodes", "gpu-07"]
        pair, effect = rest[2].split(":")
        key, value = pair.split("=")
        node["spec"].pop("taints", None)
        if not effect.endswith("-"):
            node["spec"]["taints"] = [{"key": key, "value": value, "effect": effect}]
    else:
        assert (verb, rest[:4]) == ("patch", ["node", "gpu-07", "--type=merge", "-p"])
        change = json.loads(rest[4])
        found = {k: v for k, v in change["metadata"]["annotations"].items() if v is not None}
        node["metadata"].pop("annotations", None)
        if found:
            node["metadata"]["annotations"] = found


def test_names_that_no_orchestrator_takes_have_no_plan() -> None:
    """Nothing that a shell would read is ever printed as a name."""
    assert eviction_plans("gpu; reboot", "inc-1") == []
    for job in ("4711; reboot", "ml; reboot/llama", "ml/$(reboot)", "a/b/reboot"):
        assert not any("reboot" in c for p in eviction_plans("gpu-07", "inc-1", job) for c in p.apply)
