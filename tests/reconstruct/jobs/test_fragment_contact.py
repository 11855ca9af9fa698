"""Parts of jobs by the hosts that they are on."""

from __future__ import annotations

import numpy as np

from reconstruct.jobs.fragment_contact import share_all_hosts

HOSTS = ["h0", "h0", "h1", "h1", "h2", "h2", None, "h3"]
RAIL, OTHER_RAIL, LONGER, ALONE, UNKNOWN = (np.array(e) for e in ([0, 2], [1, 3], [1, 3, 5], [0], [0, 6]))


def test_rails_of_the_same_hosts_share_all_of_them() -> None:
    """One host more, a single host, or one that is not known, is no such pair."""
    parts = [RAIL, OTHER_RAIL, LONGER, ALONE, np.array([1]), UNKNOWN, UNKNOWN]
    pairs = np.array([[0, 1], [0, 2], [3, 4], [5, 6]])
    assert share_all_hosts(pairs, parts, HOSTS).tolist() == [True, False, False, False]
    assert not share_all_hosts(pairs, parts, None).any()
    assert not len(share_all_hosts(np.zeros((0, 2), np.int64), [], HOSTS))
