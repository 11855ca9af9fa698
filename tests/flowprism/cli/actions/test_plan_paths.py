from pathlib import Path

import pytest

from datamodel.path_plan import PathPlan
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
