"""Template records as they are announced: RFC 3954 sections 5.2 and 6.1, RFC 7011 section 3.4."""

from __future__ import annotations

from dataclasses import dataclass
from struct import iter_unpack, unpack_from
from typing import NamedTuple

from capture.exporters.datagram import NETFLOW9
from capture.netflow.wire.netflow_layout import FIRST_DATA_SET, VARIABLE

MOST_FIELDS = 1024  # of one template; more than any exporter describes
_ENTERPRISE_BIT = 0x8000


class DefinitionError(ValueError):
    """A template record that cannot be used."""


class FieldLengthError(DefinitionError):
    """A template record with more fields than are taken."""


class Specifier(NamedTuple):
    """One field: its enterprise (0: none), its element, its length in bytes (VARIABLE: each record states it).

    `scope` marks the fields of an options template that say what its records are about.
    """

    enterprise: int
    element: int
    length: int
    scope: bool = False


@dataclass(frozen=True, slots=True)
class Definition:
    """A template as it was announced. `content` is the record's bytes; no fields: the template is withdrawn."""

    id: int
    options: bool
    fields: tuple[Specifier, ...]
    content: bytes

    @property
    def variable(self) -> bool:
        """Whether its records differ in length."""
        return any(field.length == VARIABLE for field in self.fields)

    @property
    def least_bytes(self) -> int:
        """The fewest bytes a record may have: a field of variable length takes at least one."""
        return sum(1 if field.length == VARIABLE else field.length for field in self.fields)


def read_definition(data: bytes, protocol: int, *, options: bool) -> Definition:
    """The template record that `data`, the rest of its set, begins with.

    Raises:
        DefinitionError: it is malformed or has too many fields.
    """
    if len(data) < 4:
        raise DefinitionError("ends inside a template's header")
    template, count = unpack_from("!HH", data)
    withdrawal = protocol != NETFLOW9 and count == 0
    if template < FIRST_DATA_SET and not (withdrawal and template in (2, 3)):
        raise DefinitionError(f"template id {template} is reserved")
    if withdrawal:
        return Definition(template, options, (), data[:4])
    if protocol == NETFLOW9:
        return _v9(data, template, count, options=options)
    return _ipfix(data, template, count, options=options)


def _v9(data: bytes, template: int, count: int, *, options: bool) -> Definition:
    scopes, at = 0, 4
    if options:  # lengths in bytes of the two lists stand where the count is
        if len(data) < 6:
            raise DefinitionError("ends inside a template's header")
        scope_bytes, option_bytes = count, unpack_from("!H", data, 4)[0]
        if scope_bytes % 4 or option_bytes % 4:
            raise DefinitionError("a list of fields has a broken length")
        scopes, count, at = scope_bytes // 4, (scope_bytes + option_bytes) // 4, 6
    if count == 0:
        raise DefinitionError("has no fields")
    _check(count)
    if at + 4 * count > len(data):
        raise DefinitionError("ends inside a list of fields")
    pairs = iter_unpack("!HH", data[at : at + 4 * count])
    fields = tuple(Specifier(0, element, size, place < scopes) for place, (element, size) in enumerate(pairs))
    return Definition(template, options, fields, data[: at + 4 * count])


def _ipfix(data: bytes, template: int, count: int, *, options: bool) -> Definition:
    scopes, at = 0, 4
    if options:
        if len(data) < 6:
            raise DefinitionError("ends inside a template's header")
        scopes, at = unpack_from("!H", data, 4)[0], 6
        if scopes > count:  # none at all is against RFC 7011 section 3.4.2.2, but does no harm
            raise DefinitionError("has an impossible number of scope fields")
    _check(count)
    fields = []
    for place in range(count):
        if at + 4 > len(data):
            raise DefinitionError("ends inside a list of fields")
        element, size = unpack_from("!HH", data, at)
        enterprise, at = 0, at + 4
        if element & _ENTERPRISE_BIT:
            if at + 4 > len(data):
                raise DefinitionError("ends inside a list of fields")
            enterprise, at = unpack_from("!I", data, at)[0], at + 4
        fields.append(Specifier(enterprise, element & ~_ENTERPRISE_BIT, size, place < scopes))
    return Definition(template, options, tuple(fields), data[:at])


def _check(count: int) -> None:
    if count > MOST_FIELDS:
        raise FieldLengthError(f"has {count} fields")
