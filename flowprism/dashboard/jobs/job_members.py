"""Who joined a job and who left it, as the layouts tell that scans kept."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from datamodel.api_models import LayoutSince
from datamodel.layout import GROUP_KINDS, Groups
from flowprism.rendering.names import Names

MOST_STAYS = 40
_Place = tuple[frozenset[str], ...]


@dataclass(frozen=True, slots=True)
class MembershipInterval:
    """A host's endpoints that came and went together, or one endpoint of which no host is known.

    Attributes:
        name: the host, or the address.
        addresses: its endpoints.
        from_ns: end of the window that first showed them; None where they were there in the first one that is kept.
        until_ns: end of the window that first showed the job without them; None where they are still there.
        replaced_by: names of those who stood in their places from then on.
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
        since_ns: since when it is known; None where no layout that is kept names anybody.
        told: layouts that name endpoints.
        untold: layouts that name none, so that who was there then is not known.
        always: endpoints that were there all the time.
        stays: of all others, the newest change first.
    """

    since_ns: int | None = None
    told: int = 0
    untold: int = 0
    always: int = 0
    stays: tuple[MembershipInterval, ...] = ()


@dataclass(slots=True)
class _Spell:
    """How long one endpoint was there."""

    address: str
    from_ns: int | None
    until_ns: int | None = None
    heirs: tuple[str, ...] = field(default=())


def members(layouts: Sequence[LayoutSince], names: Names) -> JobMembers:
    """The membership, by layouts in order of time, the newest first.

    Each layout names the endpoints of its process groups. Who stands beside the same remaining endpoints in the same
    kinds of groups as one who left takes its place; where several left or came so, all who came take the place of each.
    """
    known = [(one, named) for one in reversed(layouts) if (named := one.groups.members)]
    if not known:
        return JobMembers(untold=len(layouts))
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
    """Who took the places of those who left."""
    stood, stand = _places(before, left), _places(after, joined)
    came: dict[_Place, list[str]] = defaultdict(list)
    for address, place in stand.items():
        came[place].append(address)
    return {address: tuple(sorted(came[place])) for address, place in stood.items() if any(place) and place in came}


def _places(groups: Groups, some: frozenset[str]) -> dict[str, _Place]:
    """For each of some endpoints the others of its groups, by kind, less those who are themselves among `some`."""
    beside: dict[str, list[set[str]]] = {address: [set() for _ in GROUP_KINDS] for address in some}
    for at, kind in enumerate(GROUP_KINDS):
        for group in getattr(groups, kind):
            for address in some.intersection(group):
                beside[address][at] |= set(group) - some
    return {address: tuple(map(frozenset, near)) for address, near in beside.items()}


def _stays(spells: Iterable[_Spell], names: Names) -> tuple[MembershipInterval, ...]:
    """Spells of a host's endpoints that began and ended together are one."""
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
