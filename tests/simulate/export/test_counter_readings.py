import numpy as np

from simulate.export.counter_readings import Passing

BEGIN = 1_780_000_000 * 10**9


def test_counters_show_what_has_passed_and_how_fast() -> None:
    """At any time, before, within and after overlapping stretches on several counters, as summed one by one."""
    random = np.random.default_rng(1)
    counter, start = random.integers(0, 4, 60), BEGIN + random.integers(0, 10**6, 60)
    end, amount = start + random.integers(1, 10**5, 60), random.integers(1, 100, 60)
    passing = Passing(counter, start, end, amount)
    asked, time = random.integers(0, 5, 300), BEGIN + random.integers(-1000, 2 * 10**6, 300)
    for number, at in zip(asked.tolist(), time.tolist(), strict=True):
        own = counter == number
        so_far = (np.clip((at - start[own]) / (end[own] - start[own]), 0, 1) * amount[own]).sum()
        now = (((at >= start[own]) & (at < end[own])) * amount[own] / (end[own] - start[own])).sum()
        one, when = np.array([number]), np.array([at])
        assert abs(passing.so_far(one, when)[0] - so_far) < 1e-6
        assert abs(passing.pace(one, when)[0] - now) < 1e-9


def test_nothing_passed_is_zero() -> None:
    """Counters without stretches show nothing."""
    none = np.zeros(0, np.int64)
    assert Passing(none, none, none, none).so_far(np.array([0]), np.array([BEGIN])).tolist() == [0.0]
    assert Passing(none, none, none, none).pace(np.array([0]), np.array([BEGIN])).tolist() == [0.0]
