"""Listings merged with what is known, through files and the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from datamodel.cluster.inventory import Endpoint, Host, Inventory, JobLabel, Link, Switch, Tenant
from datamodel.errors import InputError
from flowprism.cli import app
from flowprism.inputs.inventory_file import load_inventory
from flowprism.inventory_import import merge, slurm
from flowprism.inventory_import.listing_reader import import_listings
from storage.database import access
from storage.database.connection import Database
from storage.database.feed_statistics import inventory as in_force
from tests.flowprism.inventory_import import listings
from tests.flowprism.inventory_import.listings import SLURM_TEXT, pod, slurm_job

BASE = Inventory(
    hosts=(
        Host(
            name="gpu01.dc1.example",
            endpoints=(Endpoint(address="10.1.2.1", gpu=(4, 5), rail=1),),
            agent="10.9.0.1",
        ),
        Host(name="old", endpoints=(Endpoint(address="10.1.1.2"), Endpoint(address="10.5.0.1"))),
    ),
    switches=(Switch(name="leaf1", role="leaf", agent="10.99.0.1"), Switch(name="leaf0")),
    links=(Link(a="leaf0", b="leaf1"),),
    tenants=(Tenant(name="speech", hosts=("old",)),),
    jobs=(JobLabel(name="before", hosts=("old",)),),
)  # fmt: skip


NONSENSE = [listings.address(1, "nonsense", 7), listings.device(1, "a", "server"), listings.interface(7, 1, "x")]


def write(folder: Path, name: str, content: Any) -> Path:  # noqa: ANN401 - JSON or text
    """A file."""
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_netbox_over_what_was_known(tmp_path: Path) -> None:
    """GPUs, rails and agents stay where only the old one knows them, addresses move, links are replaced, jobs stay."""
    made = import_listings([write(tmp_path, "netbox.json", listings.netbox())], BASE)
    hosts = {host.name: host for host in made.inventory.hosts}
    assert [(e.gpu, e.rail) for e in hosts["gpu01.dc1.example"].endpoints] == [(0, 0), ((4, 5), 1)]
    assert hosts["gpu01.dc1.example"].agent == "10.9.0.1"
    assert [e.all_addresses for e in hosts["old"].endpoints] == [("10.5.0.1",)]
    assert made.left_out[merge.MOVED] == 1
    assert [(link.a, link.b) for link in made.inventory.links] == [("leaf1", "spine1")]
    assert {switch.name: switch.agent for switch in made.inventory.switches} == {
        "leaf0": None, "leaf1": "10.255.0.1", "spine1": None,
    }  # fmt: skip
    assert [tenant.name for tenant in made.inventory.tenants] == ["speech", "vision"]
    assert made.inventory.jobs == BASE.jobs


def test_one_list_a_file(tmp_path: Path) -> None:
    """NetBox's lists in files of their own say the same as in one."""
    parts = [write(tmp_path, f"{name}.json", {"results": part}) for name, part in listings.netbox().items()]
    whole = import_listings([write(tmp_path, "all.json", listings.netbox())], Inventory())
    assert import_listings(parts, Inventory()) == whole


def test_jobs_of_schedulers(tmp_path: Path) -> None:
    """Nodes are hosts whatever their domain; jobs that are not listed any more are over; equal names are told apart."""
    known = import_listings([write(tmp_path, "netbox.json", listings.netbox())], BASE).inventory
    queue = {"jobs": [slurm_job(1, "llama", "gpu[01-02]"), slurm_job(2, "other", "gpu[03-04],GPU01")]}
    pods = {
        "kind": "List",
        "items": [pod("a", "speech", "old.dc2.example", {"job-name": "llama"}), pod("b", "x", "no", {"job-name": "y"})],
    }
    made = import_listings([write(tmp_path, "squeue.json", queue), write(tmp_path, "pods.json", pods)], known)
    assert [(job.name, job.id, job.tenant, job.hosts) for job in made.inventory.jobs] == [
        ("llama (1)", "1", "vision", ("gpu01.dc1.example", "gpu02.dc1.example")),
        ("other", "2", "vision", ("gpu01.dc1.example",)),
        ("llama (speech/llama)", "speech/llama", "speech", ("old",)),
    ]
    assert made.left_out == {merge.NO_HOST: 1, merge.UNKNOWN_NODES: 3}
    empty = import_listings([write(tmp_path, "none.json", {"jobs": []})], made.inventory)
    assert empty.inventory.jobs == ()


def test_inventories_are_listings_too(tmp_path: Path) -> None:
    """YAML and CSV, with what only they can say."""
    table = write(tmp_path, "more.csv", "host,address,switch,job\nnew,10.8.0.1,leaf7,j\n")
    text = write(
        tmp_path,
        "more.yaml",
        "services: [10.9.0.0/24]\nhosts: [{name: new2}]\njobs: [{name: k, id: ml/k, hosts: [new2]}]\n",
    )
    made = import_listings([table, text], BASE).inventory
    assert [host.name for host in made.hosts] == ["gpu01.dc1.example", "old", "new", "new2"]
    assert "leaf7" in {switch.name for switch in made.switches}
    assert [str(network) for network in made.services] == ["10.9.0.0/24"]
    assert [(job.name, job.id) for job in made.jobs] == [("j", None), ("k", "ml/k")]


@pytest.mark.parametrize(
    ("name", "content", "cause"),
    [
        ("a.json", "{", "not JSON"),
        ("a.json", {"a": 1}, "neither an inventory nor a listing"),
        ("a.json", {"jobs": [slurm_job(1, "a", "gpu[x]")]}, "job 1: host list"),
        ("a.json", {"jobs": [{"job_id": 1, "job_state": 7}]}, "a field is not what it should be"),
        ("a.json", {"kind": "List", "items": [{"spec": {}, "metadata": 3}]}, "a field is not what it should be"),
        ("a.json", NONSENSE, "address"),
    ],
)  # fmt: skip
def test_what_cannot_be_read(tmp_path: Path, name: str, content: Any, cause: str) -> None:  # noqa: ANN401 - JSON or text
    """One line that names the file."""
    path = write(tmp_path, name, content)
    with pytest.raises(InputError, match=cause) as raised:
        import_listings([path], Inventory())
    assert str(raised.value).startswith(str(path))


def test_from_the_command_line(tmp_path: Path) -> None:
    """The inventory goes to a file that can be read again; what was left out goes to stderr."""
    base, out = write(tmp_path, "base.json", BASE.model_dump_json(by_alias=True)), tmp_path / "new.yaml"
    jobs = write(tmp_path, "jobs.txt", SLURM_TEXT)
    done = CliRunner().invoke(app, ["inventory", "import", str(jobs), "--into", str(base), "--out", str(out)])
    assert done.exit_code == 0
    assert f"left out: 1 {slurm.NOT_RUNNING}" in done.stderr
    assert load_inventory(out) == import_listings([jobs], BASE).inventory
    shown = CliRunner().invoke(app, ["inventory", "import", str(jobs), "--into", str(base)])
    assert shown.stdout == out.read_text()


def test_put_in_force(tmp_path: Path) -> None:
    """In the results database, merged with the one before, once, and written down."""
    results = f"sqlite:///{tmp_path}/results.sqlite"
    base, jobs = (
        write(tmp_path, "base.json", BASE.model_dump_json(by_alias=True)),
        write(tmp_path, "jobs.txt", SLURM_TEXT),
    )
    for path in (base, jobs, jobs):
        assert CliRunner().invoke(app, ["inventory", "import", str(path), "--results", results]).exit_code == 0
    database = Database(results)
    known = in_force(database)
    assert known is not None
    assert [(job.name, job.hosts) for job in known.jobs] == [("pretrain 70b, take 2", ("gpu01.dc1.example",))]
    assert [entry.subject for _, entry in access.audit_log(database)] == ["jobs.txt", "base.json"]
    database.close()
