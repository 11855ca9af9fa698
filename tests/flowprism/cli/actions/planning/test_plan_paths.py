from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from datamodel.reports.path_plan import PathPlan
from flowprism.cli import main
from simulate.case import write_case
from simulate.scenarios.base_job import ScenarioOptions
from simulate.scenarios.catalogue import scenario


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A short case of collisions."""
    folder = tmp_path_factory.mktemp("collisions")
    write_case(scenario("collisions", ScenarioOptions(iterations=10)), folder, 1)
    return folder


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str | Path) -> None:
    """The command, as it is typed."""
    monkeypatch.setattr("sys.argv", ["flowprism", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0


def test_a_plan_is_written_applied_to_none_and_followed_up(
    written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """JSON that can be read again; then, as text, the collisions, ports and what became of the plan."""
    inputs = (
        written / "flows.parquet",
        written / "export" / "ipfix.pcap.gz",
        "--inventory",
        written / "inventory.yaml",
    )
    file = tmp_path / "plan.json"
    run(monkeypatch, "plan", "paths", *inputs, "--format", "json", "--out", file)
    plan = PathPlan.model_validate_json(file.read_bytes())
    assert plan.collisions
    capsys.readouterr()
    run(monkeypatch, "plan", "paths", *inputs, "--job", "job0", "--applied", file)
    text = capsys.readouterr().out
    moved = sum(one.action == "set" for one in plan.connections)
    for part in ("Collisions\n", "Source ports\n", "Uplink balance", f"not applied: {moved}", "src_addr, src_port"):
        assert part in text


def spread(written: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the leaves export, as if each record's packets took another uplink."""
    file = folder / "ipfix.parquet"
    run(monkeypatch, "decode", written / "export" / "ipfix.pcap.gz", "--out", file)
    table = pq.read_table(file)
    door = table["out_if"].to_numpy().copy()
    uplink = (door >= 1) & (door <= 8)
    door[uplink] = np.random.default_rng(2).integers(1, 9, int(uplink.sum()))
    at = table.schema.get_field_index("out_if")
    pq.write_table(table.set_column(at, table.schema.field(at), pa.array(door, table.schema.field(at).type)), file)
    return file


@pytest.mark.parametrize(
    ("what", "line"),
    [
        ("sightings", "no record names an interface"),
        ("speeds", "32 links have no speed_gbps"),
        ("sprayed", "packets of connections are spread over cables"),
        ("shared", "1 interfaces are of several links (such as leaf0 1)"),
        ("links", "the inventory lists no links"),
    ],
)
def test_what_is_missing_is_one_line_and_never_a_guessed_plan(
    written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], what: str,
    line: str,
) -> None:  # fmt: skip
    """No sightings, missing speeds, sprayed paths, a shared ifIndex, no links."""
    inventory = yaml.safe_load((written / "inventory.yaml").read_text())
    links = inventory["links"]
    if what == "speeds":
        inventory["links"] = [{k: v for k, v in link.items() if k != "speed_gbps"} for link in links]
    elif what == "shared":
        links.append(links[0] | {"b": "spine7", "b_port": 99})
    elif what == "links":
        inventory["links"] = []
    file = tmp_path / "inventory.yaml"
    file.write_text(yaml.safe_dump(inventory))
    exported = spread(written, tmp_path, monkeypatch) if what == "sprayed" else written / "export" / "ipfix.pcap.gz"
    inputs = [written / "flows.parquet", *([] if what == "sightings" else [exported])]
    capsys.readouterr()
    run(monkeypatch, "plan", "paths", *inputs, "--inventory", file)
    (said,) = capsys.readouterr().out.splitlines()
    assert said.startswith(f"No plan: {line}")
