"""Inventories as operators write them, right and wrong: each wrong one gives a line that names file, line and cause."""

from __future__ import annotations

from pathlib import Path

import pytest

from datamodel.errors import InventoryError
from flowprism.inputs.inventory_file import load_inventory

YAML = """\
schema: flowprism.inventory/v1
hosts:
  - name: s1
    endpoints:
      - {address: 10.1.1.1, gpu: 0, rail: 0, switch: leaf1, port: 3, speed_gbps: 400}
      - {addresses: [10.1.1.2, "fd00::2"], gpu: [1, 2], links: [{switch: leaf1, port: 4}]}
switches:
  - {name: leaf1, role: leaf, agent: 10.255.0.1}
  - {name: spine1}
links:
  - {a: leaf1, a_port: 10, b: spine1, b_port: 1, speed_gbps: 400}
services: [10.9.0.0/24]
tenants: [{name: t1, hosts: [s1]}]
jobs: [{name: llama-70b, tenant: t1, hosts: [s1], start: 2026-01-01T00:00:00Z, end: null}]
"""


def write(folder: Path, text: str, name: str = "inventory.yaml") -> Path:
    """A file of that text."""
    path = folder / name
    path.write_text(text)
    return path


def complaint(path: Path) -> str:
    """What loading says is wrong; always one line that begins with the file."""
    with pytest.raises(InventoryError) as raised:
        load_inventory(path)
    text = str(raised.value)
    assert text.startswith(f"{path}: ")
    assert "\n" not in text
    return text.removeprefix(f"{path}: ")


def test_numbers_of_slurm_need_no_quotes(tmp_path: Path) -> None:
    """Commands name a job by the text of its number, whichever way YAML reads that."""
    inventory = load_inventory(write(tmp_path, YAML.replace("name: llama-70b,", "name: llama-70b, id: 4711,")))
    assert inventory.jobs[0].id == "4711"


def test_every_section_is_read(tmp_path: Path) -> None:
    """Hosts, endpoints with several addresses and GPUs, switches, links, services, tenants and jobs arrive."""
    inventory = load_inventory(write(tmp_path, YAML))
    first, second = inventory.hosts[0].endpoints
    assert (first.port, first.speed_gbps) == (3, 400)
    assert second.all_addresses == ("10.1.1.2", "fd00::2")
    assert second.gpu == (1, 2)
    assert inventory.links[0].b == "spine1"
    assert str(inventory.services[0]) == "10.9.0.0/24"
    assert inventory.jobs[0].start is not None


def test_json_is_yaml(tmp_path: Path) -> None:
    """An inventory written by a program as JSON loads as it is."""
    path = write(tmp_path, '{"schema": "flowprism.inventory/v1", "hosts": [{"name": "s1"}]}', "inventory.json")
    assert load_inventory(path).hosts[0].name == "s1"


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ('{"hosts": [],\n "hosts": []}', "line 2: `hosts` is a duplicate key"),
        ('{"hosts": [\n{"nom": "s1"}]}', "line 2: hosts[0].name: field required"),
        ('{"hosts": [\n', "line 2: "),
    ],
)
def test_mistakes_in_json_are_named_too(tmp_path: Path, text: str, cause: str) -> None:
    """What JSON's own reader cannot place is said with its line."""
    assert complaint(write(tmp_path, text, "inventory.json")).startswith(cause)


@pytest.mark.parametrize(
    ("old", "new", "cause"),
    [
        ("fd00::2", "10.1.1.1", "address 10.1.1.1 is a duplicate"),
        ("  - name: s1", "  - {name: h9, agent: 10.1.1.1}\n  - name: s1", "address 10.1.1.1 is a duplicate"),
        ("gpu: 0", "gpus: 0", "line 5: hosts[0].endpoints[0].gpus: unknown field"),
        ("speed_gbps: 400}\n      -", "speed_gbps: fast}\n      -", "line 5: hosts[0].endpoints[0].speed_gbps: "),
        ("{a: leaf1, a_port", "{a: leaf9, a_port", "link leaf9 - spine1: switch leaf9 is not listed"),
        ("tenants: [{name: t1, hosts: [s1]}]", "tenants: [{name: t1, hosts: [s7]}]", "t1: host s7 is not listed"),
        ("10.1.1.1,", "10.1.1.256,", "line 5: hosts[0].endpoints[0].address: '10.1.1.256' does not appear to be"),
        ("links:\n", "links: [\n", "line 11: "),
        ("services:", "hosts: []\nservices:", "line 12: `hosts` is a duplicate key"),
        ("inventory/v1", "inventory/v2", "line 1: schema: input should be 'flowprism.inventory/v1'"),
        ("2026-01-01T", "2026-02-30T", "not YAML: "),
    ],
)
def test_mistakes_are_named(tmp_path: Path, old: str, new: str, cause: str) -> None:
    """Each mistake in an otherwise right file is named with its line, where it has one."""
    assert old in YAML
    assert cause in complaint(write(tmp_path, YAML.replace(old, new, 1)))


def test_further_mistakes_are_counted(tmp_path: Path) -> None:
    """The first mistake is told, the others are counted."""
    path = write(tmp_path, "hosts:\n  - {name: s1, rack: 4}\n  - {nam: s2}\n")
    assert complaint(path) == "line 2: hosts[0].rack: unknown field (and 2 more)"


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("", "is empty"),
        ("# only a remark\n", "is empty"),
        ("- s1\n- s2\n", "is not an inventory"),
        ("\x00", "not YAML"),
    ],
)
def test_what_is_no_inventory_is_refused(tmp_path: Path, text: str, cause: str) -> None:
    """An empty file, a list, binary rubbish."""
    assert cause in complaint(write(tmp_path, text))


def test_unreadable_files_are_named(tmp_path: Path) -> None:
    """A missing file, a directory, bytes that are no text."""
    assert complaint(tmp_path / "missing.yaml") == "No such file or directory"
    assert complaint(tmp_path) == "Is a directory"
    path = tmp_path / "latin.yaml"
    path.write_bytes(b"hosts: [{name: caf\xe9}]")
    assert complaint(path) == "not UTF-8 text"


CSV = """\
host,address,gpu,rail,switch,port,speed_gbps,tenant,job
s1,10.1.1.1,0,0,leaf1,3,400,t1,llama
s1,10.1.1.2 10.1.2.2,1 2,1,leaf1,4,400,t1,llama

s2,10.1.1.3,0,0,leaf2,3,400,t1,
"""


def test_csv_has_a_row_an_endpoint(tmp_path: Path) -> None:
    """Rows of one host, tenant or job are gathered; switches follow from what the rows name."""
    inventory = load_inventory(write(tmp_path, CSV, "inventory.csv"))
    assert [(h.name, len(h.endpoints)) for h in inventory.hosts] == [("s1", 2), ("s2", 1)]
    assert inventory.hosts[0].endpoints[1].all_addresses == ("10.1.1.2", "10.1.2.2")
    assert inventory.hosts[0].endpoints[1].gpu == (1, 2)
    assert inventory.hosts[0].endpoints[0].attachments[0].port == 3
    assert [s.name for s in inventory.switches] == ["leaf1", "leaf2"]
    assert inventory.tenants[0].hosts == ("s1", "s2")
    assert inventory.jobs[0].hosts == ("s1",)


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("", "is empty"),
        ("host,addr\ns1,10.1.1.1\n", "line 1: unknown column 'addr'"),
        ("host,gpu\ns1,0\n", "line 1: column 'address' is missing"),
        ("host,address\ns1,10.1.1.1\ns2\n", "line 3: 1 values where the header names 2"),
        ("host,address\ns1,\n", "line 2: host and address are required"),
        ("host,address\ns1,10.1.1.1\ns2,10.1.1.1\n", "address 10.1.1.1 is a duplicate"),
    ],
)
def test_mistakes_in_csv_are_named(tmp_path: Path, text: str, cause: str) -> None:
    """Each with its line, where it has one."""
    assert cause in complaint(write(tmp_path, text, "inventory.csv"))
