"""NetFlow v5 as a template: its records have one form, which Cisco's "NetFlow Export Datagram Format" gives."""

from __future__ import annotations

from capture.netflow.templates.definition import Definition, Specifier

PADDING = 0  # an element that no field type has

# Field type of NetFlow v9 that says the same, and length in bytes, in the order of the wire.
V5_FIELDS = (
    (8, 4), (12, 4), (15, 4), (10, 2), (14, 2), (2, 4), (1, 4), (22, 4), (21, 4), (7, 2), (11, 2), (PADDING, 1), (6, 1),
    (4, 1), (5, 1), (16, 2), (17, 2), (9, 1), (13, 1), (PADDING, 2),
)  # fmt: skip


def v5_definition() -> Definition:
    """The template that NetFlow v5 would have announced."""
    return Definition(0, options=False, fields=tuple(Specifier(0, *field) for field in V5_FIELDS), content=b"")
