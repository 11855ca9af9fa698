"""Standbys fit or do not, and several at once take places at the least cost of all together."""

import numpy as np

from datamodel.cluster.inventory import Endpoint, Host, StageRole
from diagnose.eviction.standby import UNFIT, Standby, Vacancy, assign_standbys, costs, fits, idle_hosts
from tests.diagnose.eviction.exhaustive import least_cost


def host(number: int, rails: int = 2, speed: float | None = 400, leaf: str = "leaf0", gpus: int = 1) -> Host:
    """A host with a NIC on each rail."""
    nics = (
        Endpoint(
            address=f"10.0.{number}.{n}", rail=n, speed_gbps=speed, switch=f"{leaf}-{n}",
            gpu=n if gpus == 1 else tuple(range(gpus)),
        )
        for n in range(rails)
    )  # fmt: skip
    return Host(name=f"h{number}", endpoints=tuple(nics))


def test_a_standby_needs_the_rails_nics_gpus_and_speed() -> None:
    """Faster NICs fit, and what the inventory does not say of both is no reason against it."""
    assert fits(host(0), host(1))
    assert fits(host(0), host(1, speed=800))
    assert fits(host(0), host(1, speed=None))
    assert not fits(host(0), host(1, speed=200))
    assert not fits(host(0), host(1, rails=1))
    assert not fits(host(0), host(1, rails=3))
    assert not fits(host(0, gpus=2), host(1))


def test_idle_is_who_trains_nowhere_and_has_no_incident() -> None:
    """By name; a host without NICs is none."""
    known = [host(3), host(1), host(2), host(0), Host(name="empty")]
    assert [one.name for one in idle_hosts(known, frozenset({"h0"}), frozenset({"h2"}))] == ["h1", "h3"]


def test_where_some_are_marked_the_others_are_kept_for_something_else() -> None:
    """A marked one that is busy or faulty is no standby all the same."""
    known = [host(0), *(host(n).model_copy(update={"standby": True}) for n in (1, 2, 3))]
    assert [one.name for one in idle_hosts(known, frozenset({"h1"}), frozenset({"h2"}))] == ["h3"]


def test_load_comes_before_the_leaf_and_the_leaf_before_the_role() -> None:
    """Each decides where those before it are equal."""
    vacancy = Vacancy(host(0), "first")
    near, far = Standby(host(1), {}), Standby(host(2, leaf="leaf1"), {}, frozenset({"first"}))
    assert assign_standbys([vacancy], [far, near]) == {"h0": "h1"}
    loaded, less = Standby(host(1), {"h0": 0.3}), Standby(host(2, leaf="leaf1"), {"h0": 0.2})
    assert assign_standbys([vacancy], [loaded, less]) == {"h0": "h2"}
    assert assign_standbys([vacancy], [loaded, far]) == {"h0": "h1"}  # unknown: as loaded as the worst that is known
    warm = Standby(host(3), {}, frozenset({"first"}))
    assert assign_standbys([vacancy], [near, warm]) == {"h0": "h3"}


def test_several_at_once_are_the_best_of_all_ways() -> None:
    """As many as fit, at the least sum, against all ways of up to eight by eight."""
    random = np.random.default_rng(2607)
    roles: tuple[StageRole, ...] = ("first", "middle", "last")
    for _ in range(100):
        rows, columns = random.integers(1, 9, 2).tolist()
        vacancies = [Vacancy(_drawn(random, n), roles[int(random.integers(3))]) for n in range(rows)]
        standbys = [
            Standby(
                _drawn(random, 20 + n),
                {one.host.name: float(random.uniform(0, 1)) for one in vacancies if random.integers(2)},
                frozenset({roles[int(random.integers(3))]}),
            )
            for n in range(columns)
        ]
        table = costs(vacancies, standbys)
        found = assign_standbys(vacancies, standbys)
        taken = {one.host.name: n for n, one in enumerate(standbys)}
        cost = sum(
            table[n, taken[found[one.host.name]]] if one.host.name in found else UNFIT
            for n, one in enumerate(vacancies)
        )
        assert np.isclose(cost, least_cost(table.tolist()))
        assert len(set(found.values())) == len(found)


def _drawn(random: np.random.Generator, number: int) -> Host:
    return host(number, speed=float(random.choice([200, 400])), leaf=f"leaf{random.integers(2)}")
