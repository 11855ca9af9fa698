"""A stranger finds things by their names: no crowded folders, no two classes of one name."""

import re
from collections import defaultdict
from pathlib import Path

from tests.house.checkout import ROOT, files, packages

MOST_MODULES = 15
PUBLIC_CLASS = re.compile(r"^class ([^\W_]\w*)", re.MULTILINE)


def modules(folders: set[str]) -> list[Path]:
    """Modules in some of the top-level folders, relative to the checkout."""
    found = [path.relative_to(ROOT) for path in files() if path.suffix == ".py"]
    return [path for path in found if path.parts[0] in folders]


def crowded() -> dict[str, int]:
    """Modules in each folder that shows too many."""
    shown: defaultdict[str, int] = defaultdict(int)
    for path in modules(packages()):
        shown[path.parent.as_posix()] += path.name != "__init__.py"
    return {folder: count for folder, count in shown.items() if count > MOST_MODULES}


def test_no_folder_is_crowded() -> None:
    """A folder shows at most 15 modules, so that one look at it is enough."""
    assert crowded() == {}


def test_no_public_class_twice() -> None:
    """A class name stands for one thing, in the packages and in the benchmarks."""
    where: defaultdict[str, list[str]] = defaultdict(list)
    for path in modules(packages() | {"benchmarks"}):
        for name in PUBLIC_CLASS.findall((ROOT / path).read_text()):
            where[name].append(path.as_posix())
    assert {name: paths for name, paths in where.items() if len(paths) > 1} == {}
