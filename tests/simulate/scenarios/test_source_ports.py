import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from datamodel.errors import InputError
from simulate.case import write_case
from simulate.scenarios.base_job import ScenarioOptions
from simulate.scenarios.catalogue import scenario
from simulate.scenarios.scenario import Scenario
from simulate.scenarios.source_ports import with_source_ports

Paths = dict[str, list[Any]]


def collisions() -> Scenario:
    """The scenario of collisions, of two iterations and without its feed."""
    return replace(scenario("collisions", ScenarioOptions(iterations=2)), feeds=())


def written(made: Scenario, folder: Path) -> Paths:
    """The true paths of a scenario."""
    write_case(made, folder, 1)
    found: Paths = pq.read_table(folder / "truth" / "paths.parquet").to_pydict()
    return found


def test_planned_ports_move_connections_as_the_leafs_hash_says(tmp_path: Path) -> None:
    """Each queue pair sends from its new port, over the spine that the fabric's hash picks; bytes stay."""
    made = collisions()
    before = written(made, tmp_path / "before")
    rows = list(zip(before["src_addr"], before["dst_addr"], before["src_port"], strict=True))
    file = tmp_path / "ports.csv"
    with file.open("w", newline="") as out:
        plan = csv.writer(out)
        plan.writerow(["job", "src_addr", "dst_addr", "src_port", "new_src_port"])
        plan.writerows(["job0", *row, 50_000 + n] for n, row in enumerate(rows))
    after = written(with_source_ports(made, file), tmp_path / "after")
    assert sorted(after["src_port"]) == [50_000 + n for n in range(len(rows))]
    endpoint = {address: n for n, address in enumerate(made.fabric.addresses())}
    src, dst = (np.array([endpoint[a] for a in after[c]]) for c in ("src_addr", "dst_addr"))
    assert made.fabric.spine(src, dst, np.array(after["src_port"])).tolist() == after["spine"]
    assert sum(after["bytes"]) == sum(before["bytes"])
    assert [after["out_if"][n] - after["spine"][n] for n in range(len(rows))] == [1] * len(rows)


def test_a_connection_is_named_by_its_addresses_in_any_plane(tmp_path: Path) -> None:
    """The second plane's addresses are of the same NICs."""
    made = collisions()
    made = replace(made, fabric=replace(made.fabric, planes=2))
    file = tmp_path / "ports.csv"
    file.write_text("src_addr,dst_addr,src_port,new_src_port\n10.0.0.65,10.0.1.66,50000,50001\n")
    assert with_source_ports(made, file).jobs[0].source_ports == ((0, 9, 50000, 50001),)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("10.9.9.9,10.0.1.1,50000,50001", "10.9.9.9"),
        ("10.0.0.1,10.0.1.1,50000,x", "'x'"),
        ("10.0.0.1,10.0.1.1,1,70000", "70000"),
    ],
)
def test_a_wrong_row_is_named_with_its_line(tmp_path: Path, row: str, message: str) -> None:
    """An endpoint that is not there, a port that is no number, and one that is no port."""
    file = tmp_path / "ports.csv"
    file.write_text(f"src_addr,dst_addr,src_port,new_src_port\n{row}\n")
    with pytest.raises(InputError, match=f"line 2: .*{message}"):
        with_source_ports(collisions(), file)
