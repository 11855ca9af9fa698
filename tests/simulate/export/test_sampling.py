import numpy as np
import pytest
from scipy.stats import chi2, kstest

from datamodel.frame import Frame
from simulate.export.observations import TRAIN_OBSERVATIONS
from simulate.export.sampling import samples

CHANCE = 0.001


def train_observations(count: int) -> Frame:
    """Trains a millisecond long, one behind the other."""
    rows = np.arange(count)
    fixed = {name: np.zeros(count, np.int64) for name in ("point", "switch", "in_if", "out_if")}
    return Frame(TRAIN_OBSERVATIONS, {**fixed, "train": rows, "start_ns": rows * 10**6, "end_ns": rows * 10**6 + 10**6})


def test_every_packet_is_as_likely_as_any_other() -> None:
    """Samples per train scatter binomially, and skips between them are geometric: no place is favoured."""
    size = np.random.default_rng(2).integers(1, 40_000, 200)
    found = samples(train_observations(200), size, 100, np.random.default_rng(1))
    got = np.bincount(found["observation"], minlength=200)
    statistic = ((got - size / 100) ** 2 / (size / 100 * 0.99))[size > 2000]
    assert chi2.ppf(CHANCE, len(statistic)) < statistic.sum() < chi2.ppf(1 - CHANCE, len(statistic))
    place = (np.cumsum(size) - size)[found["observation"]] + found["number"]
    assert len(np.unique(place)) == len(place)
    skips = np.diff(np.sort(place))
    spread = 1 - 0.99 ** (skips - np.random.default_rng(3).random(len(skips)))
    assert kstest(spread, "uniform").pvalue > CHANCE


@pytest.mark.parametrize("rate", [1, 7])
def test_samples_come_in_order_and_inside_their_trains(rate: int) -> None:
    """Numbers lie in the train, times in its span, in the order of time; at 1 in 1 all are there."""
    size = np.array([5, 0, 1, 700])
    found = samples(train_observations(4), size, rate, np.random.default_rng(1))
    assert (found["number"] < size[found["observation"]]).all()
    assert (np.diff(found["time_ns"]) >= 0).all()
    assert ((found["time_ns"] // 10**6) == found["observation"]).all()
    assert rate > 1 or len(found) == size.sum()


def test_nothing_to_sample_gives_no_sample() -> None:
    """No trains, or empty ones."""
    assert len(samples(train_observations(0), np.zeros(0, np.int64), 10, np.random.default_rng(1))) == 0
    assert len(samples(train_observations(3), np.zeros(3, np.int64), 10, np.random.default_rng(1))) == 0
