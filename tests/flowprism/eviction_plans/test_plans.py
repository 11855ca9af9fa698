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


@pytest.mark.parametrize("no_execute", [False, True])
@pytest.mark.parametrize("orchestrator", ["kubernetes", "volcano", "kueue"])
def test_kubernetes_accepts_the_node_and_undo_gives_it_back(orchestrator: str, *, no_execute: bool) -> None:
    """Cordoned with a reason; a taint that ends pods only where one asks for it."""
    plan = plans(no_execute=no_execute)[orchestrator]
    node: dict[str, Any] = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "gpu-07"}, "spec": {}}
    before = json.dumps(node)
    for command in plan.apply:
        _kubectl(node, command)
    kubernetes_validate.validate(node, kubernetes_validate.latest_version(), strict=True)
    assert node["spec"]["unschedulable"]
    assert node["metadata"]["annotations"] == {REASON: "flowprism inc-1"}
    assert ("taints" in node["spec"]) == no_execute
    for command in plan.undo:
        _kubectl(node, command)
    assert json.dumps(node) == before


def _kubectl(node: dict[str, Any], command: str) -> None:
    """Do to a node what a command says; what is done to a workload is checked only."""
    program, verb, *rest = shlex.split(command)
    if program == "vcctl":
        assert [verb, rest[0], *rest[1:]] in (["job", what, "-N", "4711"] for what in ("suspend", "resume"))
        return
    assert program == "kubectl"
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
        assert (verb, rest[2:4]) == ("patch", ["--type=merge", "-p"])
        change = json.loads(rest[4])
        if rest[0] != "node":
            assert (rest[:2], list(change)) == (["workload.kueue.x-k8s.io", "4711"], ["spec"])
            return
        found = {k: v for k, v in change["metadata"]["annotations"].items() if v is not None}
        node["metadata"].pop("annotations", None)
        if found:
            node["metadata"]["annotations"] = found


def test_names_that_no_orchestrator_takes_have_no_plan() -> None:
    """Nothing that a shell would read is ever printed as a name."""
    assert eviction_plans("gpu; reboot", "inc-1") == []
    assert not any("reboot" in c for p in eviction_plans("gpu-07", "inc-1", "4711; reboot") for c in p.apply)
