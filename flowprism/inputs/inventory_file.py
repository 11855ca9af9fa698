"""Reading an inventory from YAML or CSV. Whatever is wrong with it becomes one line that names file, line and cause."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from io import StringIO
from itertools import zip_longest
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from datamodel.cluster.inventory import Inventory
from datamodel.errors import InventoryError
from flowprism.inputs.yaml_checks import check_bounds, repeated_key

CSV_COLUMNS = ("host", "address", "gpu", "rail", "switch", "port", "speed_gbps", "tenant", "job")
_REQUIRED = ("host", "address")

Location = tuple[int | str, ...]


def load_inventory(path: Path) -> Inventory:
    """Read `path`: CSV where the name ends in `.csv`, YAML (and so JSON) otherwise.

    YAML of 100,000 endpoints takes most of a minute, the same as JSON two seconds.

    Raises:
        InventoryError: the file cannot be read, is not of its format, or contradicts itself or the schema.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InventoryError(f"{path}: not UTF-8 text") from error
    except OSError as error:
        raise InventoryError(f"{path}: {error.strerror or error}") from error
    if path.suffix.lower() == ".csv":
        return _from_csv(path, text)
    return inventory_of(text, path)


def inventory_of(text: str, path: Path | str) -> Inventory:
    """The inventory of a YAML or JSON text; `path` names it in errors.

    Raises:
        InventoryError: it is not of its format, or contradicts itself or the schema.
    """
    inventory = _from_json(text) if text.lstrip().startswith("{") else None
    return inventory or _from_yaml(path, text)


def _from_json(text: str) -> Inventory | None:
    """The inventory of a JSON text; None where anything is wrong with it: the reader of YAML knows in which line."""
    try:
        return Inventory.model_validate(json.loads(text, object_pairs_hook=_with_each_key_once))
    except (ValueError, RecursionError):
        return None


def _with_each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a key is a duplicate")
    return members


def _from_yaml(path: Path | str, text: str) -> Inventory:
    loader = yaml.CSafeLoader(text)
    try:
        check_bounds(text)
        root = loader.get_single_node()
        if not isinstance(root, yaml.MappingNode):
            what = "is empty" if root is None else "is not an inventory: expected `schema:`, `hosts:` ... at the top"
            raise InventoryError(f"{path}: {what}")
        if (key := repeated_key(root)) is not None:
            raise InventoryError(f"{path}: {_line(key.start_mark)}`{key.value}` is a duplicate key")
        document = loader.construct_document(root)
    except yaml.MarkedYAMLError as error:
        raise InventoryError(f"{path}: {_line(error.problem_mark)}{error.problem or 'not YAML'}") from error
    except (yaml.YAMLError, ValueError) as error:  # ValueError: a date that is none, such as 2026-02-30
        raise InventoryError(f"{path}: not YAML: {' '.join(str(error).split())}") from error
    finally:
        loader.dispose()
    try:
        return Inventory.model_validate(document)
    except ValidationError as error:
        raise InventoryError(f"{path}: {_first(error, root)}") from error


def _line(mark: yaml.Mark | None) -> str:
    return "" if mark is None else f"line {mark.line + 1}: "


def _first(error: ValidationError, root: yaml.Node | None = None) -> str:
    """The first complaint as `line N: where: what`, and how many more there are."""
    complaints = error.errors(include_url=False)
    first = complaints[0]
    what = "unknown field" if first["type"] == "extra_forbidden" else first["msg"].removeprefix("Value error, ")
    what = what[:1].lower() + what[1:]
    where = _dotted(first["loc"])
    more = f" (and {len(complaints) - 1} more)" if len(complaints) > 1 else ""
    line = _line(_mark(root, first["loc"])) if root is not None else ""
    return f"{line}{where}{': ' if where else ''}{what}{more}"


def _dotted(location: Location) -> str:
    parts = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location if not _is_branch(part))
    return parts.removeprefix(".")


def _is_branch(part: int | str) -> bool:
    """Pydantic puts the branch of a union it tried, e.g. `tuple[int, ...]`, into the location."""
    return isinstance(part, str) and not part.isidentifier()


def _mark(root: yaml.Node, location: Location) -> yaml.Mark | None:
    """Where in the file the deepest existing part of `location` begins; None for the document as a whole."""
    node, mark = root, None
    for part in location:
        if isinstance(node, yaml.MappingNode):
            found = next(((k, v) for k, v in node.value if k.value == part), None)
            if found is None:
                break
            mark, node = found[0].start_mark, found[1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
            mark = node.start_mark
        else:
            break
    return mark


def _from_csv(path: Path, text: str) -> Inventory:
    """One row an endpoint; host, tenant and job names gather the rows."""
    reader = csv.reader(StringIO(text))
    try:
        header = [name.strip() for name in next(reader, [])]
    except csv.Error as error:
        raise InventoryError(f"{path}: line 1: {error}") from error
    _check_header(path, header)
    hosts: dict[str, list[dict[str, Any]]] = {}
    labels: dict[str, dict[str, dict[str, None]]] = {"tenant": {}, "job": {}}
    for line, row in _rows(path, reader, header):
        if not row.get("host") or not row.get("address"):
            raise InventoryError(f"{path}: line {line}: host and address are required")
        hosts.setdefault(row["host"], []).append(_endpoint(row))
        for kind, named in labels.items():
            if row.get(kind):
                named.setdefault(row[kind], {})[row["host"]] = None
    document = {
        "hosts": [{"name": name, "endpoints": endpoints} for name, endpoints in hosts.items()],
        "switches": [{"name": name} for name in _switches(hosts)],
        "tenants": [{"name": name, "hosts": list(members)} for name, members in labels["tenant"].items()],
        "jobs": [{"name": name, "hosts": list(members)} for name, members in labels["job"].items()],
    }
    try:
        return Inventory.model_validate(document)
    except ValidationError as error:
        raise InventoryError(f"{path}: {_first(error)}") from error


def _check_header(path: Path, header: list[str]) -> None:
    if not header:
        raise InventoryError(f"{path}: is empty")
    for name in header:
        if name not in CSV_COLUMNS:
            raise InventoryError(f"{path}: line 1: unknown column {name!r}; known: {', '.join(CSV_COLUMNS)}")
    for name in _REQUIRED:
        if name not in header:
            raise InventoryError(f"{path}: line 1: column {name!r} is missing")


def _rows(path: Path, reader: Any, header: list[str]) -> Iterator[tuple[int, dict[str, str]]]:  # noqa: ANN401 -- csv's reader has no public type
    try:
        for values in reader:
            if not any(value.strip() for value in values):
                continue
            if len(values) != len(header):
                cause = f"{len(values)} values where the header names {len(header)}"
                raise InventoryError(f"{path}: line {reader.line_num}: {cause}")
            yield reader.line_num, {k: v.strip() for k, v in zip(header, values, strict=True)}
    except csv.Error as error:
        raise InventoryError(f"{path}: line {reader.line_num}: {error}") from error


def _endpoint(row: dict[str, str]) -> dict[str, Any]:
    """The fields of one endpoint; several addresses, GPUs or switch ports of one NIC are separated by spaces."""
    endpoint: dict[str, Any] = {"addresses": row["address"].split()}
    switches, ports = row.get("switch", "").split(), row.get("port", "").split()
    if len(switches) > 1 and len(ports) in {0, len(switches)}:
        pairs = zip_longest(switches, ports)
        endpoint["links"] = [{"switch": s} | ({"port": p} if p else {}) for s, p in pairs]
        row = row | {"switch": "", "port": ""}
    for name in ("rail", "switch", "port", "speed_gbps"):
        if row.get(name):
            endpoint[name] = row[name]
    if row.get("gpu"):
        endpoint["gpu"] = row["gpu"].split() if " " in row["gpu"] else row["gpu"]
    return endpoint


def _switches(hosts: dict[str, list[dict[str, Any]]]) -> list[str]:
    every = [e for endpoints in hosts.values() for e in endpoints]
    return sorted(
        {e["switch"] for e in every if "switch" in e} | {x["switch"] for e in every for x in e.get("links", [])}
    )
