"""Fuzz one decoder for a while: `python -m tests.fuzz TARGET [--minutes N] [--corpus DIR]`.

Coverage is seen in Python, so the kernels run uncompiled. What breaks a promise is left as crash-* in the corpus
folder; once mended it belongs into tests/fuzz/regressions/TARGET.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

os.environ["NUMBA_DISABLE_JIT"] = "1"  # before anything imports numba

import atheris

with atheris.instrument_imports(include=["capture", "datamodel", "flowprism.exporter_config"]):
    from tests.fuzz.targets import TARGETS

from tests.fuzz.seeds import SEEDS

_LONGEST_INPUT_BYTES = {"goflow2": 400}  # three messages; a search through damage takes 0.1 ms a byte here
_LONGEST_OF_OTHERS_BYTES = 4096


def main() -> None:
    """Run the fuzzer until the time is over; it exits 0 where nothing broke."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", choices=sorted(TARGETS))
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--corpus", type=Path, default=Path("out/fuzz"), help="keeps what was found interesting")
    arguments = parser.parse_args()
    folder = arguments.corpus / arguments.target
    folder.mkdir(parents=True, exist_ok=True)
    for n, seed in enumerate(SEEDS[arguments.target]()):
        (folder / f"seed-{n}").write_bytes(seed)
    longest = _LONGEST_INPUT_BYTES.get(arguments.target, _LONGEST_OF_OTHERS_BYTES)
    command = [
        sys.argv[0], f"-max_total_time={round(arguments.minutes * 60)}", f"-max_len={longest}",
        f"-artifact_prefix={folder}/", "-timeout=30", "-rss_limit_mb=4096", "-print_final_stats=1", str(folder),
    ]  # fmt: skip
    atheris.Setup(command, TARGETS[arguments.target])
    atheris.Fuzz()


if __name__ == "__main__":
    main()
