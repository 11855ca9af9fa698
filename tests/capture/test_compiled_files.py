"""Compiled code is found again by what it was compiled from and for, whoever wrote it, and in whatever order."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import cast

import numba
import numpy as np
import pytest

from capture.compiled_files import CompiledFiles, Key, keep_compiled

FEW: Key = ((numba.int64,), ("x86_64",), ("bytecode", ""))
MANY: Key = ((numba.int64[:],), ("x86_64",), ("bytecode", ""))
SOURCE = """
import numpy as np
from capture.jit import outlined

def make(times):
    @outlined
    def scaled(values):
        total = 0.0
        for value in values:
            total += value * times if value % 3 else np.sqrt(value)
            for k in range(value):
                total += np.sin(total) * np.cos(k) + np.arctan(total)
        return total
    return scaled

twice, thrice = make(2), make(3)

@outlined
def first(values):
    return twice(values) + twice(values[1:]) + twice(values[2:])

@outlined
def second(values):
    return thrice(values) + thrice(values[1:]) + thrice(values[2:])

def use(kernel, values):
    return float(kernel(values)), sum(kernel.stats.cache_hits.values())
"""


def test_what_two_processes_save_without_seeing_each_other_stays_apart(tmp_path: Path) -> None:
    """Each of them believes that it is the first; numba's numbered files would exchange their code."""
    for key, code in ((FEW, "few"), (MANY, "many")):
        (tmp_path / code).mkdir()
        CompiledFiles(str(tmp_path / code), "kernel", "stamp").save(key, code)
        shutil.copytree(tmp_path / code, tmp_path / "both", dirs_exist_ok=True)
    files = CompiledFiles(str(tmp_path / "both"), "kernel", "stamp")
    assert (files.load(FEW), files.load(MANY)) == ("few", "many")


def test_code_of_another_source_is_not_used_and_goes(tmp_path: Path) -> None:
    """Only once something of the new source is saved: until then the old one may still be running."""
    old, new = (CompiledFiles(str(tmp_path), "kernel", stamp) for stamp in ("old", "new"))
    other = CompiledFiles(str(tmp_path), "kernel_of_another", "old")
    old.save(FEW, "old")
    other.save(FEW, "other")
    assert (new.load(FEW), old.load(FEW)) == (None, "old")
    new.save(FEW, "new")
    assert (new.load(FEW), old.load(FEW), other.load(FEW)) == ("new", None, "other")


@pytest.mark.parametrize("left", [0, 1, 10])
def test_a_file_cut_short_is_compiled_again(tmp_path: Path, left: int) -> None:
    """As a crash of the machine may leave it."""
    files = CompiledFiles(str(tmp_path), "kernel", "stamp")
    files.save(FEW, list(range(1000)))
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:left])
    assert files.load(FEW) is None


def test_functions_of_one_name_stay_apart_in_a_process_that_compiled_neither(tmp_path: Path) -> None:
    """Compiled by a process each; whoever loads both finds both, and calls the right one."""
    (tmp_path / "made.py").write_text(SOURCE)
    environment = {"PYTHONPATH": f"{Path(__file__).parents[2]}:{tmp_path}", "NUMBA_CACHE_DIR": str(tmp_path / "cache")}

    def use(kernels: str) -> list[tuple[float, int]]:
        code = f"import numpy as np; from made import *; print([use(one, np.arange(5)) for one in ({kernels},)])"
        run = [sys.executable, "-c", code]
        said = subprocess.run(run, env=environment, capture_output=True, text=True, check=True).stdout
        return cast("list[tuple[float, int]]", ast.literal_eval(said))

    ((first, _),), ((second, _),) = use("first"), use("second")
    assert first != second
    assert use("first, second") == [(first, 1), (second, 1)]


def test_function_that_keeps_nothing_is_left_alone() -> None:
    """As where no folder may be written."""
    dispatcher: Callable[[np.int64], np.int64] = numba.njit(lambda value: value)
    keep_compiled(dispatcher, "source")
    assert dispatcher(np.int64(2)) == 2
