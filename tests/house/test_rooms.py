"""The map of the house is the house."""

import re

from tests.house.checkout import ROOT, files, packages, settings

DRAWER = re.compile(r"(^|/)(utils?|helpers?|common|misc)(\.py|/)")
MACHINE_PATH = re.compile(r"(?<![\w.~])/(?:work|root|home|Users)/")
LONGEST_MODULE_LINES = 600


def listed(section: str, option: str) -> set[str]:
    """Names in a multi-line setting of setup.cfg."""
    return set(settings()[section][option].split())


def test_every_package_is_installed_and_watched() -> None:
    """A top-level package is in setup.cfg's package list, in coverage and under the import law."""
    rooms = packages()
    assert listed("options.packages.find", "include") == rooms | {f"{room}.*" for room in rooms}
    assert listed("coverage:run", "source") == rooms
    assert listed("importlinter", "root_packages") == rooms
    assert listed("importlinter:contract:no-scapy", "source_modules") == rooms


def test_every_folder_is_on_the_map() -> None:
    """CONTRIBUTING's map names every top-level folder of the checkout, and no other."""
    tree = (ROOT / "CONTRIBUTING.md").read_text().split("```")[1]
    tops = {path.relative_to(ROOT).parts[0] for path in files() if path.parent != ROOT}
    assert set(re.findall(r"^(\w+)/ ", tree, re.MULTILINE)) == {top for top in tops if not top.startswith(".")}


def test_every_folder_of_modules_is_a_package() -> None:
    """A folder of modules without `__init__.py` would be left out of the wheel, or of the test run."""
    folders = {path.parent for path in files() if path.suffix == ".py" and "benchmarks" not in path.parts}
    scripts = ROOT / "tests" / "data"
    assert [f for f in sorted(folders) if scripts not in (f, *f.parents) and not (f / "__init__.py").exists()] == []


def test_no_module_is_too_long() -> None:
    """A module that a stranger cannot read in one sitting is split."""
    modules = [path for path in files() if path.suffix == ".py"]
    long = [p.relative_to(ROOT) for p in modules if len(p.read_text().splitlines()) > LONGEST_MODULE_LINES]
    assert long == []


def test_no_drawers() -> None:
    """A name says what is inside."""
    assert [name for path in files() if DRAWER.search(name := path.relative_to(ROOT).as_posix())] == []


def test_no_path_of_one_machine() -> None:
    """No file names a folder that exists on one machine only."""
    texts = [path for path in files() if b"\0" not in path.read_bytes()]
    assert [p.relative_to(ROOT) for p in texts if MACHINE_PATH.search(p.read_text(errors="replace"))] == []
