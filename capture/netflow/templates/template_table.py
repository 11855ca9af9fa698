"""The templates that exporters have announced, and how the kernels find them.

A template belongs to a transport session: an exporter (address and domain) and its source port. A set for which that
session announced none is decoded with the one that the same exporter announced last from another port: some send
templates and data from different ports.

Memory: at most `MOST_TEMPLATES` of all exporters, `MOST_OF_AN_EXPORTER` each; about 80 bytes a template and 24 a field.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from capture.exporters.datagram import NETFLOW5
from capture.jit import jit, wide
from capture.mirror.flow_table import mixed
from capture.netflow.templates.definition import Definition
from capture.netflow.templates.load_plan import Program
from capture.netflow.wire.netflow_layout import FIELD, TEMPLATE, Table, Tables
from capture.tables.key_table import Slots
from capture.tables.read_buffer import Bytes

MOST_TEMPLATES = 1 << 16
MOST_OF_AN_EXPORTER = 4096
MOST_FIELDS = 1 << 21  # of all templates together
UNUSED_NS = 30 * 60 * 1_000_000_000  # after which another exporter may have a template's place

V5_TEMPLATE = 0  # row of the built-in template of NetFlow v5
_OLDEST = 64  # of an exporter's templates, the ones announced first; one of them makes room for a new one
_FREE, _LEFT = -1, -2  # slots: never used, and used no longer
_NOBODY = -1  # exporter of a free row
_BUILT_IN = -2


class Templates:
    """Rows of `TEMPLATE` with the fields and the definitions they point to, found by hash.

    Attributes:
        rows: `TEMPLATE` rows; those of exporter -1 are free.
        exact: slots of places in `rows`, by exporter, port and id.
        loose: likewise, by exporter and id: the one announced last.
        fields: `FIELD` rows of all templates.
        definitions: the bytes that announced them.
    """

    def __init__(self) -> None:
        self.rows: Table = np.zeros(64, TEMPLATE)
        self.rows["exporter"] = _NOBODY
        self.fields: Table = np.zeros(1024, FIELD)
        self.definitions: npt.NDArray[np.uint8] = np.zeros(4096, np.uint8)
        self.exact: Slots = np.full(256, _FREE, np.int32)
        self.loose: Slots = np.full(256, _FREE, np.int32)
        self._fields_used = self._definitions_used = 0
        self._live_fields = 0
        self._entered = 0  # slots that are not free, at most, in either table
        self._unused = list(range(len(self.rows) - 1, V5_TEMPLATE, -1))
        self._held: dict[int, dict[int, None]] = {}  # rows by exporter, in order of announcement
        self._nobody_idle_before_ns = 0  # no template will have been unused for long before then

    def count(self, exporter: int) -> int:
        """How many templates an exporter has."""
        return len(self._held.get(exporter, ()))

    def built_in(self, definition: Definition, program: Program) -> None:
        """Set the template that every NetFlow v5 datagram is decoded with."""
        self._write(V5_TEMPLATE, (_BUILT_IN, 0, 0), definition, program)

    def put(
        self, exporter: int, port: int, used_ns: int, definition: Definition, program: Program
    ) -> tuple[bool, list[int]]:
        """Enter a template, in place of an older one of the same id.

        Returns:
            Whether it found room, and the exporters of the templates that were forgotten for it.
        """
        self.withdraw(exporter, port, definition.id)
        robbed: list[int] = []
        while not self._fits(exporter, len(definition.fields)):
            row = self._victim(exporter, used_ns)
            if row < 0:
                return False, robbed
            robbed.append(int(self.rows[row]["exporter"]))
            self._forget(row)
        if not self._unused:
            self._more_rows()
        row = self._unused.pop()
        self._write(row, (exporter, port, used_ns), definition, program)
        self._held.setdefault(exporter, {})[row] = None
        self._enter(row)
        return True, robbed

    def withdraw(self, exporter: int, port: int, template: int) -> bool:
        """Forget one template of a session; whether there was one."""
        row = int(search(self.rows, self.exact, exporter, port, template, same_port=True))
        if row < 0:
            return False
        self._forget(row)
        return True

    def withdraw_all(self, exporter: int, port: int, *, options: bool) -> None:
        """Forget all templates of a session, or all its options templates."""
        for row in sorted(self._held.get(exporter, ())):
            if self.rows[row]["port"] == port and bool(self.rows[row]["options"]) == options:
                self._forget(row)

    def known(self) -> list[tuple[int, int, int, bool, bytes]]:
        """Every template: exporter, port, when it was last used, whether an options template, its definition."""
        found = []
        for row in sorted(row for rows in self._held.values() for row in rows):
            entry = self.rows[row]
            start = int(entry["definition"])
            content = self.definitions[start : start + int(entry["definition_bytes"])].tobytes()
            found.append(
                (int(entry["exporter"]), int(entry["port"]), int(entry["used_ns"]), bool(entry["options"]), content)
            )
        return found

    def move(self, places: npt.NDArray[np.int64]) -> None:
        """Follow exporters to their new places; those of a forgotten one (-1) go with it."""
        live = np.flatnonzero(self.rows["exporter"] >= 0)
        self.rows["exporter"][live] = places[self.rows["exporter"][live]]
        gone = live[self.rows["exporter"][live] < 0]
        self._live_fields -= int(self.rows["fields"][gone].sum())
        self.rows["fields"][gone] = self.rows["definition_bytes"][gone] = 0
        self._unused += gone.tolist()
        self._held = {int(places[exporter]): rows for exporter, rows in self._held.items() if places[exporter] >= 0}
        self._reenter()

    def _fits(self, exporter: int, fields: int) -> bool:
        room = self._unused or len(self.rows) < MOST_TEMPLATES
        return bool(room) and self.count(exporter) < MOST_OF_AN_EXPORTER and self._live_fields + fields <= MOST_FIELDS

    def _victim(self, exporter: int, now_ns: int) -> int:
        """The template to forget: another exporter's only where it went unused for long."""
        if self.count(exporter) < MOST_OF_AN_EXPORTER and now_ns >= self._nobody_idle_before_ns:
            row = self._longest_unused(np.flatnonzero(self.rows["exporter"] >= 0))
            idle_from_ns = int(self.rows[row]["used_ns"]) + UNUSED_NS
            if now_ns > idle_from_ns:
                return row
            self._nobody_idle_before_ns = idle_from_ns  # until then no search is needed
        own = islice(self._held.get(exporter, ()), _OLDEST)
        return self._longest_unused(np.fromiter(own, np.int64))

    def _longest_unused(self, rows: npt.NDArray[np.int64]) -> int:
        return int(rows[np.argmin(self.rows["used_ns"][rows])]) if len(rows) else -1

    def _more_rows(self) -> None:
        rows = np.zeros(min(2 * len(self.rows), MOST_TEMPLATES), TEMPLATE)
        rows["exporter"] = _NOBODY
        rows[: len(self.rows)] = self.rows
        self._unused = list(range(len(rows) - 1, len(self.rows) - 1, -1))
        self.rows = rows

    def _write(self, row: int, place: tuple[int, int, int], definition: Definition, program: Program) -> None:
        self._more_fields(len(program.fields))
        self._more_definitions(len(definition.content))
        entry = self.rows[row]
        entry["exporter"], entry["port"], entry["used_ns"] = place
        entry["id"], entry["options"], entry["variable"] = definition.id, definition.options, definition.variable
        entry["record_bytes"] = definition.least_bytes
        entry["kind"], entry["flags"], entry["present"] = program.kind, program.flags, program.present
        entry["start"], entry["end"], entry["duration"] = program.units
        entry["first_field"], entry["fields"] = self._fields_used, len(program.fields)
        entry["definition"], entry["definition_bytes"] = self._definitions_used, len(definition.content)
        fields = np.array(list(program.fields), FIELD)
        self.fields[self._fields_used : self._fields_used + len(fields)] = fields
        content = np.frombuffer(definition.content, np.uint8)
        self.definitions[self._definitions_used : self._definitions_used + len(content)] = content
        self._fields_used += len(fields)
        self._definitions_used += len(content)
        self._live_fields += len(fields)

    def _more_fields(self, fields: int) -> None:
        """Have room for so many more fields: without those of forgotten templates, or in a larger table."""
        if self._fields_used + fields > len(self.fields):
            self.fields, self._fields_used = self._moved(self.fields, "first_field", "fields", fields, 1024)

    def _more_definitions(self, size: int) -> None:
        """Likewise for definitions."""
        if self._definitions_used + size > len(self.definitions):
            self.definitions, self._definitions_used = self._moved(
                self.definitions, "definition", "definition_bytes", size, 4096
            )

    def _moved(
        self, entries: npt.NDArray[Any], first: str, count: str, more: int, least: int
    ) -> tuple[npt.NDArray[Any], int]:
        """The entries that templates in use point to, in a table with room for `more`; and how many they are.

        Args:
            entries: the table so far.
            first: column with each template's first entry; it is corrected.
            count: column with their number.
            more: how many are to come.
            least: size of the smallest table.
        """
        live = np.flatnonzero(self.rows["exporter"] != _NOBODY)
        live = live[np.argsort(self.rows[first][live], kind="stable")]
        table = np.zeros(max(2 * (int(self.rows[count][live].sum()) + more), least), entries.dtype)
        used = 0
        for row in live:
            start, size = int(self.rows[row][first]), int(self.rows[row][count])
            table[used : used + size] = entries[start : start + size]
            self.rows[row][first] = used
            used += size
        return table, used

    def _enter(self, row: int) -> None:
        if 2 * (self._entered + 1) > len(self.exact):
            self._reenter()
            return
        enter(self.rows, self.exact, self.loose, row)
        self._entered += 1

    def _reenter(self) -> None:
        """Enter all templates into tables that have room for as many more."""
        live = np.flatnonzero(self.rows["exporter"] >= 0)
        size = max(256, 1 << (4 * len(live)).bit_length())
        self.exact, self.loose = np.full(size, _FREE, np.int32), np.full(size, _FREE, np.int32)
        # The one used last comes last, so that it is found where any port will do.
        enter_all(self.rows, self.exact, self.loose, live[np.argsort(self.rows["used_ns"][live], kind="stable")])
        self._entered = len(live)

    def _forget(self, row: int) -> None:
        entry = self.rows[row]
        leave(self.rows, self.exact, self.loose, row)
        del self._held[int(entry["exporter"])][row]
        if not self._held[int(entry["exporter"])]:
            del self._held[int(entry["exporter"])]
        self._live_fields -= int(entry["fields"])
        entry["exporter"], entry["fields"], entry["definition_bytes"] = _NOBODY, 0, 0
        self._unused.append(row)


@jit
def first_slot(slots: Slots, exporter: int, port: int, template: int) -> int:
    """Where the search for a template begins."""
    return mixed(mixed(wide(0x5BD1E995), exporter << 16 | template), port) & (len(slots) - 1)


@jit
def search(rows: Table, slots: Slots, exporter: int, port: int, template: int, same_port: bool) -> int:
    """The row of a template, or -1. `slots` is `exact` with `same_port`, else `loose`."""
    mask = len(slots) - 1
    slot = first_slot(slots, exporter, port if same_port else wide(-1), template)
    while slots[slot] != _FREE:
        place = wide(slots[slot])
        if place >= 0:
            row = rows[place]
            if row["exporter"] == exporter and row["id"] == template and (not same_port or row["port"] == port):
                return place
        slot = (slot + 1) & mask
    return -1


@jit
def enter(rows: Table, exact: Slots, loose: Slots, place: int) -> None:
    """Enter a row into both tables; in `loose` it takes the place of another port's."""
    row = rows[place]
    exporter, port, template = wide(row["exporter"]), wide(row["port"]), wide(row["id"])
    slot = first_slot(exact, exporter, port, template)
    while exact[slot] >= 0:
        slot = (slot + 1) & (len(exact) - 1)
    exact[slot] = place
    slot = first_slot(loose, exporter, wide(-1), template)
    free = wide(-1)
    while loose[slot] != _FREE:
        other = wide(loose[slot])
        if other >= 0 and rows[other]["exporter"] == exporter and rows[other]["id"] == template:
            loose[slot] = place
            return
        if other == _LEFT and free < 0:
            free = slot
        slot = (slot + 1) & (len(loose) - 1)
    loose[slot if free < 0 else free] = place


@jit
def enter_all(rows: Table, exact: Slots, loose: Slots, places: npt.NDArray[np.int64]) -> None:
    """Enter rows one after another."""
    for i in range(len(places)):
        enter(rows, exact, loose, wide(places[i]))


@jit
def leave(rows: Table, exact: Slots, loose: Slots, place: int) -> None:
    """Take a row out of both tables; in `loose` no other port's takes its place before it is announced again."""
    row = rows[place]
    exporter, port, template = wide(row["exporter"]), wide(row["port"]), wide(row["id"])
    slot = first_slot(exact, exporter, port, template)
    while exact[slot] != _FREE:
        if exact[slot] == place:
            exact[slot] = _LEFT
            break
        slot = (slot + 1) & (len(exact) - 1)
    slot = first_slot(loose, exporter, wide(-1), template)
    while loose[slot] != _FREE:
        if loose[slot] == place:
            loose[slot] = _LEFT
            break
        slot = (slot + 1) & (len(loose) - 1)


@jit
def find_exact(tables: Tables, exporter: int, port: int, template: int) -> int:
    """The row of a template that this very session announced, or -1."""
    return search(tables.templates, tables.exact, exporter, port, template, True)


@jit
def find(tables: Tables, exporter: int, port: int, template: int, protocol: int) -> int:
    """The row of the template that decodes a set, or -1."""
    if protocol == NETFLOW5:
        return V5_TEMPLATE
    row = search(tables.templates, tables.exact, exporter, port, template, True)
    return row if row >= 0 else search(tables.templates, tables.loose, exporter, port, template, False)


@jit
def same_definition(data: Bytes, at: int, end: int, tables: Tables, row: int, options: int) -> bool:
    """Whether the template record at `at` says what is known of it already."""
    template = tables.templates[row]
    size = wide(template["definition_bytes"])
    if at + size > end or template["options"] != options:
        return False
    start = wide(template["definition"])
    for i in range(size):  # noqa: SIM110 - kernels have no generators
        if data[at + i] != tables.definitions[start + i]:
            return False
    return True
