"""Which endpoints joined and left a job, from the layouts that scans stored."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from datamodel.reports.layout import GROUP_KINDS, Groups
from datamodel.service.api_models import LayoutSince
from flowprism.rendering.names import Names

MOST_STAYS = 40
_Place = tuple[frozenset[str], ...]


@dataclass(frozen=True, slots=True)
class MembershipInterval:
    """A host's endpoints that came and went together, or one endpoint without a known host.

    Attributes:
        name: the host, or the address.
        addresses: its endpoints.
        from_ns: end of the window that first showed them; None where the first stored layout has them.
        until_ns: end of the window that first showed the job without them; None where the latest layout has them.
        replaced_by: names of the endpoints that took their places then.
    """

    name: str
    addresses: tuple[str, ...]
    from_ns: int | None
    until_ns: int | None
    replaced_by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class JobMembers:
    """The membership of a job over time.

    Attributes:
        since_ns: time of the first layout with groups; None where no stored layout has groups.
        with_groups: number of layouts with process groups.
        without_groups: number of layouts without, which leave the membership unknown.
        always: number of endpoints that are in all layouts with groups.
        stays: the intervals of all others, the newest change first.
    """

    since_ns: int | None = None
    with_groups: int = 0
    without_groups: int = 0
    always: int = 0
    stays: tuple[MembershipInterval, ...] = ()


@dataclass(slots=True)
class _Spell:
    """The time in which one endpoint was a member."""

    address: str
    from_ns: int | None
    until_ns: int | None = None
    heirs: tuple[str, ...] = field(default=())


def members(layouts: Sequence[LayoutSince], names: Names) -> JobMembers:
    """Derive the membership from layouts, given newest first.

    An endpoint that joined replaces one that left if both share the same kinds of groups with the same remaining
    endpoints. If several endpoints left or joined so, all that joined replace each one that left.
    """
    known = [(one, named) for one in reversed(layouts) if (named := one.groups.members)]
    if not known:
        return JobMembers(without_groups=len(layouts))
    before, here = known[0]
    present = {address: _Spell(address, None) for address in here}
    over: list[_Spell] = []
    for one, now in known[1:]:
        if now != here:
            heirs = _heirs(before.groups, one.groups, here - now, now - here)
            gone = [present.pop(address) for address in sorted(here - now)]
            for spell in gone:
                spell.until_ns, spell.heirs = one.since_ns, heirs.get(spell.address, ())
            over += gone
            present |= {address: _Spell(address, one.since_ns) for address in sorted(now - here)}
        before, here = one, now
    later = [spell for spell in present.values() if spell.from_ns is not None]
    always = len(present) - len(later)
    return JobMembers(
        known[0][0].since_ns, len(known), len(layouts) - len(known), always, _stays([*over, *later], names)
    )


def _heirs(before: Groups, after: Groups, left: frozenset[str], joined: frozenset[str]) -> dict[str, tuple[str, ...]]:
    """Map each endpoint that left to those that took its place."""
    stood, stand = _places(before, left), _places(after, joined)
    came: dict[_Place, list[str]] = defaultdict(list)
    for address, place in stand.items():
        came[place].append(address)
    return {address: tuple(sorted(came[place])) for address, place in stood.items() if any(place) and place in came}


def _places(groups: Groups, some: frozenset[str]) -> dict[str, _Place]:
    """Map each of some endpoints to the other members of its groups, by kind, without those in `some`."""
    peers: dict[str, list[set[str]]] = {address: [set() for _ in GROUP_KINDS] for address in some}
    for at, kind in enumerate(GROUP_KINDS):
        for group in getattr(groups, kind):
            for address in some.intersection(group):
                peers[address][at] |= set(group) - some
    return {address: tuple(map(frozenset, near)) for address, near in peers.items()}


def _stays(spells: Iterable[_Spell], names: Names) -> tuple[MembershipInterval, ...]:
    """Merge the intervals of a host's endpoints that began and ended together."""
    together: dict[tuple[str, int | None, int | None], list[_Spell]] = defaultdict(list)
    for spell in spells:
        together[_called(spell.address, names), spell.from_ns, spell.until_ns].append(spell)
    stays = [
        MembershipInterval(name, tuple(one.address for one in own), from_ns, until_ns, _names_of_heirs(own, names))
        for (name, from_ns, until_ns), own in together.items()
    ]
    return tuple(sorted(stays, key=lambda one: (-max(one.from_ns or 0, one.until_ns or 0), one.name)))


def _names_of_heirs(own: Sequence[_Spell], names: Names) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_called(heir, names) for spell in own for heir in spell.heirs))


def _called(address: str, names: Names) -> str:
    place = names.places.get(address)
    return address if place is None else place.host
