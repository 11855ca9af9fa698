"""How long an audit of many long running configurations takes.

usage: python -m benchmarks.planning.config_audit [--files N] [--lines N]

Files are right configurations of the judged problems, in five languages, each filled up with prefix lists.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from flowprism.exporter_config.audit import audit
from flowprism.exporter_config.configurations import read_configurations
from flowprism.exporter_config.plan import ExportPlan

PROBLEMS = Path(__file__).parents[2] / "tests" / "configs" / "problems"
FILLERS = {
    "arista-eos": "ip prefix-list P{n} seq 10 permit 10.{a}.{b}.0/24\n",
    "cisco-nxos": "ip prefix-list P{n} seq 10 permit 10.{a}.{b}.0/24\n",
    "juniper-junos": "set policy-options prefix-list P{n} 10.{a}.{b}.0/24\n",
    "nvidia-onyx": "   ip prefix-list P{n} seq 10 permit 10.{a}.{b}.0 /24\n",
    "cumulus-nvue": "nv set router policy prefix-list P{n} rule 10 match 10.{a}.{b}.0/24\n",
}


def main() -> None:
    """Print one line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--lines", type=int, default=20_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for vendor in FILLERS:
            text = filled(vendor, arguments.lines)
            for number in range(arguments.files // len(FILLERS)):
                (folder / f"{vendor}-{number}.cfg").write_text(text)
        wall_s, cpu_s = time.perf_counter(), time.process_time()
        report = audit(read_configurations([folder]), ExportPlan())
        wall_s, cpu_s = time.perf_counter() - wall_s, time.process_time() - cpu_s
    print(
        f"{len(report.devices)} files, {len(report.findings)} findings: {wall_s:.1f} s, {cpu_s:.1f} s of processor time"
    )


def filled(vendor: str, lines: int) -> str:
    """A right configuration with so many lines."""
    text = next(iter((PROBLEMS / vendor / "1" / "reference").iterdir())).read_text()
    rest = range(lines - text.count("\n"))
    return text + "".join(FILLERS[vendor].format(n=n, a=n // 250 % 250, b=n % 250) for n in rest)


if __name__ == "__main__":
    main()
