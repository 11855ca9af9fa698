"""The program on the page that crafts datagrams with scapy, where that is installed."""

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from capture.reader import read_flows
from tests.house.checkout import ROOT


@pytest.mark.skipif(find_spec("scapy") is None, reason="no scapy")
def test_crafted_datagrams_are_read(tmp_path: Path) -> None:
    """Three records of one flow, a second apart."""
    program = re.search(r"```python\n(.*?)```", (ROOT / "docs" / "netflow.md").read_text(), re.DOTALL)
    assert program
    capture = tmp_path / "crafted.pcap"
    subprocess.run([sys.executable, "-c", program[1], str(capture)], check=True)
    flows = read_flows(capture).flows
    start_ns, end_ns = flows.frame["time_flow_start_ns"], flows.frame["time_flow_end_ns"]
    assert {"10.0.0.1", "10.0.1.1"} < set(flows.addresses)
    assert flows.frame["bytes"].tolist() == [4_000_000] * 3
    assert (start_ns - start_ns[0]).tolist() == [0, 1_000_000_000, 2_000_000_000]
    assert (end_ns - start_ns).tolist() == [250_000_000] * 3
