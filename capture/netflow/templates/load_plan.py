"""Templates to programs: which field is loaded into which target, in which unit, and what the records are.

Where several fields state the same quantity, the better one is taken; the tables below are in order of preference.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from capture.exporters.datagram import IPFIX, NETFLOW9
from capture.netflow.templates.definition import Definition, Specifier
from capture.netflow.templates.element_names import REVERSE_ENTERPRISE
from capture.netflow.wire.netflow_layout import (
    BIFLOW,
    BOTH_FAMILIES,
    BYTES,
    BYTES_OUT,
    CHANCE,
    COUNTS_LAYER2,
    COUNTS_TOTALS,
    DELTA_MICROSECONDS,
    DESTINATION,
    DESTINATION_OTHER,
    DIRECTION,
    DST_PORT,
    DURATION,
    EMPTY,
    END,
    EVENT_KIND,
    EVENTS,
    FLOWS,
    GATHERED,
    IN_IF,
    INIT,
    INTERVAL,
    IP_SECTION,
    IPV4_ADDRESS,
    IPV6_ADDRESS,
    MICROSECONDS,
    MILLISECONDS,
    NTP_MICROSECONDS,
    NTP_NANOSECONDS,
    OPTIONS,
    OUT_IF,
    PACKETS,
    PACKETS_OUT,
    PLACE,
    POPULATION,
    PROBABILITY,
    PROTO,
    RATE,
    REVERSE_BYTES,
    REVERSE_DURATION,
    REVERSE_END,
    REVERSE_PACKETS,
    REVERSE_START,
    REVERSE_TCP_FLAGS,
    REVERSE_TOS,
    SAMPLER,
    SAMPLER_ID,
    SECONDS,
    SECTION,
    SECTION_BYTES,
    SECTIONED,
    SELECTOR,
    SIZE,
    SKIP,
    SOURCE,
    SOURCE_OTHER,
    SPACE,
    SRC_PORT,
    START,
    TCP_FLAGS,
    TELLING_OPTIONS,
    TOS,
    UNSIGNED,
    UPTIME,
    VARIABLE,
    WALKED,
    WITHOUT_ADDRESSES,
    WITHOUT_COUNTERS,
)

# Elements by target, the preferred one first.
COUNTERS = {BYTES: (1, 231, 23, 352, 85, 353), PACKETS: (2, 298, 24, 86)}
# The same packets counted behind the exporter; they serve where it counted nothing before.
COUNTED_BEHIND = {BYTES: (1, BYTES_OUT, 23), PACKETS: (2, PACKETS_OUT, 24)}
SIMPLE = {
    PROTO: (4,), TOS: (5,), TCP_FLAGS: (6,), IN_IF: (10, 252), OUT_IF: (14, 253), DIRECTION: (61,), INIT: (160,),
    SAMPLER_ID: (48, 302), EVENT_KIND: (233, 40005, 230), SECTION_BYTES: (312,),
    SRC_PORT: (7,), DST_PORT: (11,), RATE: (34, 50), INTERVAL: (305,), SPACE: (306,), POPULATION: (310,), SIZE: (309,),
}  # fmt: skip
PORTS_BY_PROTOCOL = {SRC_PORT: (180, 182), DST_PORT: (181, 183)}  # UDP's and TCP's; one of them is zero
SECTIONS = (315, 104, 313)
IP_HEADER_SECTION = 313
TIMES = {
    START: ((156, NTP_NANOSECONDS), (154, NTP_MICROSECONDS), (152, MILLISECONDS), (22, UPTIME),
            (158, DELTA_MICROSECONDS), (150, SECONDS)),
    END: ((157, NTP_NANOSECONDS), (155, NTP_MICROSECONDS), (153, MILLISECONDS), (21, UPTIME),
          (159, DELTA_MICROSECONDS), (151, SECONDS)),
    DURATION: ((162, MICROSECONDS), (161, MILLISECONDS)),
}  # fmt: skip
# When something was observed or collected; serves where there is no start or no end.
OBSERVED = ((325, NTP_NANOSECONDS), (324, NTP_MICROSECONDS), (323, MILLISECONDS), (322, SECONDS), (258, MILLISECONDS))
BACK = {
    BYTES: REVERSE_BYTES, PACKETS: REVERSE_PACKETS, START: REVERSE_START, END: REVERSE_END, DURATION: REVERSE_DURATION,
    TOS: REVERSE_TOS, TCP_FLAGS: REVERSE_TCP_FLAGS,
}  # fmt: skip
# VMware's names for what a tunnel carries (enterprise 6876), with the standard elements, which are the tunnel's then.
TENANT_ENTERPRISE = 6876
TENANT = {880: 4, 881: 8, 882: 12, 883: 27, 884: 28, 886: 7, 887: 11}
_PLANS = 1024  # kept: a fabric's exporters are of a few models with a few templates each
_ADDRESSES = (8, 12, 27, 28)
RESPONDER = {231: (REVERSE_BYTES, 232), 298: (REVERSE_PACKETS, 299)}  # ASA counts both directions in its own way
# Enterprises' own elements of the way back (RFC 5103 section 6.2): Ixia's, and YAF's from before RFC 5103.
VENDOR_BACK = {REVERSE_BYTES: ((3054, 176), (6871, 12)), REVERSE_PACKETS: ((3054, 177), (6871, 13))}
_TELLING = (RATE, INTERVAL, POPULATION, CHANCE, SELECTOR, INIT)
_TOTALS, _LAYER2 = (85, 353, 86), (352, 353)
_COUNTS = (BYTES, PACKETS, REVERSE_BYTES, REVERSE_PACKETS)
_NTP_BYTES = 8


@dataclass(frozen=True, slots=True)
class Program:
    """What to do with a template's records; `fields` are rows of `FIELD`, `units` those of START, END and DURATION."""

    kind: int
    flags: int
    present: int
    fields: tuple[tuple[int, int, int, int], ...]
    units: tuple[int, int, int]


class Load(NamedTuple):
    """Into which target, and how, a field is loaded."""

    target: int
    how: int


@lru_cache(_PLANS)
def program_of(definition: Definition, protocol: int) -> Program:
    """Plan the loading of a template's records; planned once for all exporters that announce the same one."""
    plan = _Plan(definition, protocol)
    plan.addresses()
    plan.counters()
    plan.simple()
    plan.rates()
    plan.times()
    plan.section()
    return plan.program()


class _Plan:
    """The loads chosen so far, by place of their field in the template."""

    def __init__(self, definition: Definition, protocol: int) -> None:
        self._definition = definition
        self._protocol = protocol
        self._loads: dict[int, Load] = {}
        self._units = {START: 0, END: 0, DURATION: 0}
        self._flags = 0
        self._places: dict[tuple[int, int], int] = {}
        for place, field in enumerate(definition.fields):
            if not (field.scope and protocol == NETFLOW9):  # there a scope's types are numbers of their own
                # Of several occurrences the last is the innermost header's (RFC 7011 section 8).
                self._places[field.enterprise, field.element] = place
        self._look_inside()

    def _look_inside(self) -> None:
        """Take what a tunnel carries for the flow where a template has it."""
        inside = {
            (0, TENANT[e]): place
            for (enterprise, e), place in self._places.items()
            if enterprise == TENANT_ENTERPRISE and e in TENANT
        }
        if any(element in _ADDRESSES for _, element in inside):
            outside = {(0, element) for element in _ADDRESSES}
            self._places = {key: place for key, place in self._places.items() if key not in outside} | inside

    def _take(self, target: int, element: int, how: int = UNSIGNED, enterprise: int = 0) -> bool:
        place = self._places.get((enterprise, element))
        if place is None or not _fits(self._definition.fields[place], how):
            return False
        self._loads[place] = Load(target, how)
        return True

    def _first(self, target: int, elements: tuple[int, ...], enterprise: int = 0) -> int:
        """Load the first of `elements` that is there; the answer is which, 0 if none."""
        return next((element for element in elements if self._take(target, element, enterprise=enterprise)), 0)

    def _has(self, *targets: int) -> bool:
        loaded = {load.target for load in self._loads.values()}
        return all(target in loaded for target in targets)

    def addresses(self) -> None:
        """IPv6 addresses stand in the main targets where a template has both kinds."""
        both = False
        for target, other, v4, v6 in ((SOURCE, SOURCE_OTHER, 8, 27), (DESTINATION, DESTINATION_OTHER, 12, 28)):
            six = self._take(target, v6, IPV6_ADDRESS)
            both |= self._take(other if six else target, v4, IPV4_ADDRESS) and six
        self._flags |= BOTH_FAMILIES if both else 0
        _ = self._take(SAMPLER, 130, IPV4_ADDRESS) or self._take(SAMPLER, 131, IPV6_ADDRESS)

    def counters(self) -> None:
        """Bytes and packets, and those of the way back."""
        for target, elements in COUNTERS.items():
            chosen = self._first(target, elements)
            self._flags |= COUNTS_TOTALS if chosen in _TOTALS else 0
            self._flags |= COUNTS_LAYER2 if chosen in _LAYER2 else 0
            if not self._way_back(target, chosen) and chosen == COUNTED_BEHIND[target][0]:
                self._take(*COUNTED_BEHIND[target][1:])

    def _way_back(self, target: int, chosen: int) -> bool:
        """Load the counter of the way back that belongs to the one chosen of the way there; whether there is one."""
        back = BACK[target]
        return (
            (chosen in RESPONDER and self._take(*RESPONDER[chosen]))
            or bool(self._first(back, COUNTERS[target], REVERSE_ENTERPRISE))
            or any(self._take(back, element, enterprise=enterprise) for enterprise, element in VENDOR_BACK[back])
        )

    def simple(self) -> None:
        """What is loaded as it stands."""
        for target, elements in SIMPLE.items():
            chosen = self._first(target, elements)
            if target in (TOS, TCP_FLAGS):
                self._first(BACK[target], elements, REVERSE_ENTERPRISE)
            elif target in PORTS_BY_PROTOCOL and not chosen:
                self._gather(target, PORTS_BY_PROTOCOL[target])
        self._flags |= EVENTS if self._has(EVENT_KIND) else 0

    def rates(self) -> None:
        """Load sampling parameters that are no integers, and the kind of selector in options."""
        self._take(CHANCE, 311, PROBABILITY)
        if self._definition.options:
            self._take(SELECTOR, 304)

    def _gather(self, target: int, elements: tuple[int, ...]) -> None:
        """Load all of `elements`; the first one in the record is kept unless a later one is not zero."""
        places = sorted((self._places[0, element], element) for element in elements if (0, element) in self._places)
        taken = False
        for _, element in places:
            taken |= self._take(target, element, GATHERED if taken else UNSIGNED)

    def times(self) -> None:
        """The best pair of times, and of the way back those in the same unit."""
        for target, choices in TIMES.items():
            for element, unit in self._ranked(target, choices):
                if self._take_time(target, element, unit):
                    self._units[target] = unit
                    self._take_time(BACK[target], element, unit, REVERSE_ENTERPRISE)
                    break

    def _ranked(self, target: int, choices: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
        if target == DURATION:
            return choices
        if self._protocol == IPFIX and (0, 160) not in self._places:  # then the start of the uptime is unknown
            choices = tuple(sorted(choices, key=lambda choice: choice[1] == UPTIME))
        return (*choices, *OBSERVED)

    def _take_time(self, target: int, element: int, unit: int, enterprise: int = 0) -> bool:
        place = self._places.get((enterprise, element))
        if place is None or place in self._loads:
            return False
        if unit in (NTP_MICROSECONDS, NTP_NANOSECONDS) and self._definition.fields[place].length != _NTP_BYTES:
            return False
        return self._take(target, element, enterprise=enterprise)

    def section(self) -> None:
        """A packet's first bytes."""
        for element in SECTIONS:
            if self._take(SECTION, element, PLACE):
                self._flags |= SECTIONED | (IP_SECTION if element == IP_HEADER_SECTION else 0)
                break

    def program(self) -> Program:
        """The program of the loads chosen."""
        if self._has(REVERSE_BYTES) or self._has(REVERSE_PACKETS):
            self._flags |= BIFLOW
        if self._definition.variable or self._flags & (BOTH_FAMILIES | BIFLOW | SECTIONED | EVENTS):
            self._flags |= WALKED
        present = 0
        for load in self._loads.values():
            present |= 1 << load.target
        units = (self._units[START], self._units[END], self._units[DURATION])
        return Program(self._kind(), self._flags, present, self._fields(), units)

    def _kind(self) -> int:
        if self._definition.least_bytes == 0:
            return EMPTY
        if self._definition.options:
            return TELLING_OPTIONS if any(map(self._has, _TELLING)) else OPTIONS
        if self._has(SECTION):
            return FLOWS
        if not self._has(SOURCE, DESTINATION):
            return WITHOUT_ADDRESSES
        return FLOWS if any(map(self._has, _COUNTS)) else WITHOUT_COUNTERS

    def _fields(self) -> tuple[tuple[int, int, int, int], ...]:
        """Loaded fields; between them, where fields are variable, those that are walked over, put together."""
        fields: list[tuple[int, int, int, int]] = []
        offset = 0
        for place, field in enumerate(self._definition.fields):
            load = self._loads.get(place, Load(SKIP, UNSIGNED))
            if load.target != SKIP:
                fields.append((offset, field.length, load.target, load.how))
            elif self._definition.variable:
                _skip(fields, offset, field.length)
            offset += 1 if field.length == VARIABLE else field.length
        return tuple(fields)


def _skip(fields: list[tuple[int, int, int, int]], offset: int, length: int) -> None:
    """Walk over a field, together with the one before where both have fixed lengths."""
    if fields and length != VARIABLE:
        before = fields[-1]
        # The sum must not look like VARIABLE.
        if before[2] == SKIP and before[1] != VARIABLE and before[1] + length < VARIABLE:
            fields[-1] = (before[0], before[1] + length, SKIP, UNSIGNED)
            return
    fields.append((offset, length, SKIP, UNSIGNED))


def _fits(field: Specifier, how: int) -> bool:
    """Whether a field has a length that its type can have (RFC 7011 section 6.2: integers may be shortened)."""
    if how == IPV4_ADDRESS:
        return field.length == 4
    if how == IPV6_ADDRESS:
        return field.length == 16
    if how == PLACE:
        return field.length > 0
    if how == PROBABILITY:
        return field.length in (4, 8)  # a float64 may be shortened to a float32
    return 1 <= field.length <= 8 or field.length == VARIABLE
