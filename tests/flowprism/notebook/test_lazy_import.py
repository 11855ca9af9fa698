"""Nothing is imported before it is needed, and what is not installed is named."""

from __future__ import annotations

import subprocess
import sys

import pytest

EXTRA = ("pandas", "networkx", "matplotlib", "pyarrow", "numpy")
# An interpreter in which nothing of the extra is installed.
BARE = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pandas", "networkx", "matplotlib"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
import flowprism
"""


def run(program: str) -> str:
    """What a program prints in an interpreter of its own."""
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout


def test_importing_flowprism_imports_no_library() -> None:
    """Nor does its command line, so that `--help` answers at once."""
    program = f"import sys, flowprism, flowprism.cli; print([n for n in {EXTRA} if n in sys.modules])"
    assert run(program).strip() == "[]"


@pytest.mark.parametrize("call", ["flowprism.analyze('nothing.pcap')", "flowprism.open('http://127.0.0.1:9')"])
def test_without_the_extra_one_line_says_what_to_install(call: str) -> None:
    """Before an input is looked at; it is an ImportError too."""
    program = f"""{BARE}
try:
    {call}
except ImportError as error:
    print(type(error).__name__, error)
"""
    assert run(program) == "MissingExtraError pandas is not installed: pip install 'flowprism[notebook]'\n"


def test_flow_records_need_no_extra() -> None:
    """They are Arrow batches."""
    program = f"""{BARE}
print(flowprism.read_flows("tests/data/collectors/sflow.pcap").read_all().num_rows > 10)
"""
    assert run(program) == "True\n"


def test_an_unknown_name_is_an_attribute_error() -> None:
    """As of any module."""
    assert run("import flowprism; print(hasattr(flowprism, 'analyse'), 'analyze' in dir(flowprism))") == "False True\n"
