"""The Python of docs/query.md, run as it stands on a lake."""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path

import pytest

from storage.lake.compactor import Compactor
from tests.house.checkout import ROOT
from tests.storage.lake.test_lake_writer import opened
from tests.storage.records import batch, flows

EXAMPLES = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "query.md").read_text(), re.DOTALL)


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the examples look for it: two versions of the table of flow records."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "data" / "flows"
    store = opened(folder)
    for first in (0, 100):
        store.commit(batch(flows(100, first=first)))
        with closing(Compactor(folder, {})) as compactor:
            compactor.run_round()
    return folder


@pytest.mark.parametrize("example", EXAMPLES, ids=range(1, len(EXAMPLES) + 1))
def test_an_example_of_the_page_runs(lake: Path, example: str) -> None:
    """Its last line is an expression with an answer, or the names of new files."""
    pytest.importorskip("deltalake", reason="no deltalake on this machine")
    *before, last = example.strip().splitlines()
    known: dict[str, object] = {}
    exec("\n".join(before), known)  # noqa: S102 - the page's own text
    answer = eval(last.removeprefix("new_files = "), known)  # noqa: S307 - as above
    assert len(answer) > 0
    assert len(EXAMPLES) == 3
    assert lake.exists()
