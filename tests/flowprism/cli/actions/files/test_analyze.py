"""`flowprism analyze` as a user meets it: what lands where, and what a mistake looks like."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path

import pyarrow.parquet
import pytest
from rich.console import Console

from datamodel.cluster.inventory import Inventory
from datamodel.errors import InputError
from datamodel.reports.analysis import Analysis
from datamodel.reports.report import Report
from flowprism.cli.progress_bars import progress_bars
from flowprism.progress import Progress
from tests.flowprism import sample
from tests.flowprism.command_line import Run


@pytest.fixture
def analysed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Sequence[Path], Inventory | None]]:
    """Analyses give the sample in place of minutes of work; the list fills with what they were given."""
    calls: list[tuple[Sequence[Path], Inventory | None]] = []

    def analyze(paths: Sequence[Path], inventory: Inventory | None, _options: object, _progress: object) -> Analysis:
        calls.append((paths, inventory))
        return sample.analysis(iterations=16)

    monkeypatch.setattr("flowprism.pipeline.analyze", analyze)
    return calls


@pytest.mark.usefixtures("analysed")
def test_text_goes_to_stdout(run: Run) -> None:
    """Nothing else does, and nothing goes to stderr where no one watches."""
    code, out, err = run("analyze", "mirror.pcap.gz")
    assert code == 0
    assert out.startswith("1 critical finding in 1 of 2 jobs")
    assert err == ""


def test_paths_and_inventory_arrive(
    run: Run, analysed: list[tuple[Sequence[Path], Inventory | None]], tmp_path: Path
) -> None:
    """Several inputs of one window, and the inventory's names in the report."""
    listed = tmp_path / "inventory.csv"
    listed.write_text("host,address,gpu,switch\nnode7,10.1.1.1,3,leaf1\n")
    code, out, _ = run("analyze", "a.pcap", "b.pcap", "--inventory", listed)
    assert code == 0
    assert [str(p) for p in analysed[0][0]] == ["a.pcap", "b.pcap"]
    assert analysed[0][1] is not None
    assert "10.1.1.1 (node7 gpu 3)" in out


@pytest.mark.usefixtures("analysed")
def test_every_output_is_written(run: Run, tmp_path: Path) -> None:
    """Report, trace and timelines in one go; stdout stays empty."""
    report, trace, spans = tmp_path / "r.json", tmp_path / "t.pftrace", tmp_path / "s.parquet"
    code, out, _ = run(
        "analyze", "x", "--format", "json", "--out", report, "--perfetto", trace, "--timelines", spans
    )  # fmt: skip
    assert (code, out) == (0, "")
    assert Report.model_validate_json(report.read_text()) == sample.analysis(iterations=16).report
    assert trace.stat().st_size > 10_000
    assert pyarrow.parquet.read_metadata(spans).num_rows == len(sample.analysis(iterations=16).timelines.spans)


@pytest.mark.usefixtures("analysed")
def test_the_page_and_the_text_can_be_files(run: Run, tmp_path: Path) -> None:
    """Text in a file is plain and 80 columns wide."""
    assert run("analyze", "x", "--format", "html", "--out", tmp_path / "r.html")[0] == 0
    assert (tmp_path / "r.html").read_text().startswith("<!doctype html>")
    assert run("analyze", "x", "--out", tmp_path / "r.txt")[0] == 0
    text = (tmp_path / "r.txt").read_text()
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.usefixtures("analysed")
def test_json_on_stdout_is_json_alone(run: Run) -> None:
    """So that it can be piped."""
    _, out, _ = run("analyze", "x", "--format", "json")
    assert json.loads(out)["schema"] == "flowprism.report/v1"


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--inventory", "none.yaml"], "flowprism: none.yaml: No such file or directory"),
        (["--out", "no/where/r.txt"], "flowprism: no/where/r.txt: cannot be written: no/where is not a directory"),
        (["--perfetto", "."], "flowprism: .: cannot be written: is a directory"),
        (["--timelines", "s.csv"], "flowprism: s.csv: timelines are written as .parquet, .arrow, .feather"),
    ],
)
def test_mistakes_are_told_before_the_work(
    run: Run,
    analysed: list[tuple[Sequence[Path], Inventory | None]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    line: str,
) -> None:
    """One line on stderr, exit code 2, and no analysis has run."""
    monkeypatch.chdir(tmp_path)
    assert run("analyze", "x", *options) == (2, "", f"{line}\n")
    assert not analysed


def test_an_unusable_input_is_one_line(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a stage raises as the user's to mend, without a traceback and without line breaks."""

    def analyze(*_: object) -> Analysis:
        raise InputError("x.pcap: neither a capture\nnor flow records")

    monkeypatch.setattr("flowprism.pipeline.analyze", analyze)
    assert run("analyze", "x.pcap") == (2, "", "flowprism: x.pcap: neither a capture nor flow records\n")


@pytest.mark.usefixtures("analysed")
def test_a_full_disk_is_one_line(run: Run) -> None:
    """An output that fails while it is written is named."""
    code, _, err = run("analyze", "x", "--perfetto", "/dev/full")
    assert code == 2
    assert err.startswith("flowprism: /dev/full: cannot be written: No space left on device")
    assert err.count("\n") == 1


def python(code: str) -> subprocess.CompletedProcess[bytes]:
    """A Python of its own that runs the command line on the sample."""
    stage = "from tests.flowprism import sample; from flowprism import pipeline, cli; import sys;"
    stage += "pipeline.analyze = lambda *_: sample.analysis(iterations=16); sys.argv = ['flowprism', 'analyze', 'x'];"
    command = [sys.executable, "-c", stage + code]
    return subprocess.run(command, capture_output=True, check=False)


@pytest.mark.usefixtures("analysed")
def test_a_terminal_without_our_letters_gets_others(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Better a question mark than a traceback."""
    shown = BytesIO()
    monkeypatch.setattr(sys, "stdout", TextIOWrapper(shown, encoding="ascii"))
    assert run("analyze", "x") == (0, "", "")
    assert b"tp 2 ? pp 2 ? dp 4" in shown.getvalue()


def test_a_full_stdout_is_one_line() -> None:
    """Also where the last bytes are only written at the end."""
    done = python("import os; os.dup2(os.open('/dev/full', os.O_WRONLY), 1); cli.main()")
    assert done.returncode == 2
    assert done.stderr.startswith(b"flowprism: stdout: cannot be written: No space left on device\n")


def test_a_reader_that_leaves_is_no_error() -> None:
    """As with `| head`: no traceback, no complaint."""
    done = python("import os; r, w = os.pipe(); os.close(r); os.dup2(w, 1); cli.main()")
    assert (done.returncode, done.stderr) == (1, b"")


@pytest.mark.parametrize("arguments", [["analyze"], ["analyze", "x", "--format", "pdf"], ["analyse", "x"]])
def test_a_wrong_command_line_exits_2(run: Run, arguments: list[str]) -> None:
    """With the usage, as command lines do."""
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert "Usage: flowprism" in err


def test_version_and_help(run: Run) -> None:
    """The version is the package's; help lists the commands."""
    assert run("--version") == (0, "flowprism 0.1.0\n", "")
    code, out, _ = run("--help")
    assert code == 0
    assert "analyze" in out
    assert "evaluate" in out


def test_help_does_not_load_the_decoders() -> None:
    """Asking how it is used answers at once."""
    heavy = "{'numpy', 'numba', 'pyarrow', 'pydantic', 'jinja2', 'rich.console', 'google.protobuf'}"
    probe = f"import sys, flowprism.cli; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", probe], check=True, capture_output=True, text=True)
    assert done.stdout == "[]\n"


def drawn(use: Callable[[Progress], None], *, terminal: bool) -> str | None:
    """What progress bars write; None where there is no one to show them to."""
    file = StringIO()
    console = Console(file=file, force_terminal=terminal, width=80)
    with progress_bars(console) as progress:
        if progress is None:
            return None
        use(progress)
    return file.getvalue()


def test_progress_is_shown_on_a_terminal_only() -> None:
    """A bar a stage, gone at the end; no callback at all where nobody watches."""

    def use(progress: Progress) -> None:
        progress("reading", 0, 0)
        progress("reading", 40, 100)
        progress("jobs", 1, 2)

    shown = drawn(use, terminal=True)
    assert shown is not None
    assert "reading" in shown
    assert "40 %" in shown
    assert drawn(use, terminal=False) is None
