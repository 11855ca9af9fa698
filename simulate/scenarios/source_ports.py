"""Source ports as `flowprism plan paths --format csv` writes them, given to the queue pairs of a scenario."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

from datamodel.errors import InputError
from simulate.scenarios.scenario import Scenario

COLUMNS = ("src_addr", "dst_addr", "src_port", "new_src_port")
_PORTS = 1 << 16


def with_source_ports(scenario: Scenario, file: Path) -> Scenario:
    """The scenario where each queue pair of the file has the port that is planned for it.

    Raises:
        InputError: the file cannot be read, lacks a column, or names an address that the fabric has not.
    """
    try:
        with file.open(newline="", encoding="utf-8") as lines:
            rows = list(csv.DictReader(lines))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file}: {error}") from error
    many = scenario.fabric.endpoints
    endpoints = {address: n % many for n, address in enumerate(scenario.fabric.addresses())}  # by that of any plane
    ports = tuple(_given(file, number, row, endpoints) for number, row in enumerate(rows, 2))
    return replace(scenario, jobs=tuple(replace(job, source_ports=ports) for job in scenario.jobs))


def _given(file: Path, line: int, row: dict[str, str], endpoints: dict[str, int]) -> tuple[int, int, int, int]:
    try:
        src, dst, port, new = (row[name] for name in COLUMNS)
        given = endpoints[src], endpoints[dst], int(port), int(new)
    except KeyError as error:
        raise InputError(f"{file}: line {line}: no column or endpoint {error}") from error
    except (TypeError, ValueError) as error:
        raise InputError(f"{file}: line {line}: {error}") from error
    if not 0 <= given[3] < _PORTS:
        raise InputError(f"{file}: line {line}: {new} is no port")
    return given
