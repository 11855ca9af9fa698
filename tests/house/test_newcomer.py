"""Tests ask for captures beside the checkout one by one: any folder called `shared`, or none, may lie there."""

from pathlib import Path

import pytest

from tests import neighbours
from tests.house.checkout import ROOT, files


@pytest.mark.parametrize("beside", [(), ("shared",), ("shared/photos", "shared/captures.txt")])
def test_what_is_not_beside_the_checkout_skips_its_test(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, beside: tuple[str, ...]
) -> None:
    """Whether there is no such folder, an empty one, or one of another's; what is there is found."""
    for folder in beside:
        (tmp_path / folder).mkdir(parents=True)
    monkeypatch.setattr(neighbours, "SHARED", tmp_path / "shared")
    shared = neighbours.Captures(tmp_path / "shared")
    with pytest.raises(pytest.skip.Exception, match="no shared/captures beside the checkout"):
        shared / "captures" / "s1.pcap"
    assert all((shared / folder.partition("/")[2]).exists() for folder in beside)


def test_no_test_finds_them_otherwise() -> None:
    """Only one module says where they lie."""
    tests = [path for path in files() if path.suffix == ".py" and path.relative_to(ROOT).parts[0] == "tests"]
    assert len(tests) > 100
    naming = {path.relative_to(ROOT).as_posix() for path in tests if '/ "shared"' in path.read_text()}
    assert naming == {"tests/neighbours.py", "tests/house/test_newcomer.py"}
