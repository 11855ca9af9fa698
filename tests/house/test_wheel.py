"""The wheel holds what the checkout holds."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.house.checkout import ROOT, files, packages


@pytest.mark.slow
def test_wheel_holds_every_file_of_the_rooms(tmp_path: Path) -> None:
    """Modules, templates and the bundled capture are all installed, and nothing beside the rooms is."""
    source = tmp_path / "source"
    for path in files():
        target = source / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(tmp_path)]
    subprocess.run([sys.executable, "-m", "pip", "wheel", *options, str(source)], check=True)
    (wheel,) = tmp_path.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    inside = {path.relative_to(ROOT) for path in files()}
    expected = {path.as_posix() for path in inside if path.parts[0] in packages() and len(path.parts) > 1}
    assert {name for name in names if ".dist-info/" not in name} == expected
