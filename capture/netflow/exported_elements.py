"""Elements that exporters describe themselves, in options data (RFC 5610): for `decode --wire`."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Mapping

from capture.netflow.templates.element_names import DATA_TYPES, ENTERPRISE_BIT, UNKNOWN, Element, standard_names

_MOST_ELEMENTS = 1 << 16
_LONGEST_NAME = 256


class ExportedElements:
    """Names and types of enterprises' elements, as their exporter described them; the oldest are dropped first."""

    def __init__(self, taken: Collection[str]) -> None:
        """Begin with none; `taken` are names that mean something else where names of elements are written."""
        self._taken = standard_names() | set(taken)
        self._known: OrderedDict[tuple[str, int, int], Element] = OrderedDict()

    def learn(self, exporter: str, record: Mapping[str, object]) -> None:
        """Keep what a record of options data says of an element, where it is about one and names it.

        A name that is no word, or another thing's, is not taken: in what is written it stands where standard names do.
        """
        enterprise, number = record.get("privateEnterpriseNumber"), record.get("informationElementId")
        name, kind = record.get("informationElementName"), record.get("informationElementDataType", 0)
        if not isinstance(enterprise, int) or not isinstance(number, int) or not isinstance(kind, int):
            return
        if not isinstance(name, str) or not name.isidentifier() or len(name) > _LONGEST_NAME or name in self._taken:
            return
        described = Element(name, DATA_TYPES[kind] if kind < len(DATA_TYPES) else DATA_TYPES[0])
        self._known[exporter, enterprise, number & ~ENTERPRISE_BIT] = described
        while len(self._known) > _MOST_ELEMENTS:
            self._known.popitem(last=False)

    def get(self, exporter: str, enterprise: int, number: int) -> Element:
        """Return an element as this exporter described it."""
        return self._known.get((exporter, enterprise, number), UNKNOWN)
