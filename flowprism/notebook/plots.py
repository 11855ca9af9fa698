"""What `AnalysisFrames.plot` draws, with matplotlib."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes

_COLORS = {"info": "tab:blue", "warning": "tab:orange", "critical": "tab:red"}


def plot_iterations(
    iterations: pd.DataFrame, findings: pd.DataFrame, jobs: Sequence[str], ax: Axes | None = None
) -> Axes:
    """Iteration times over time, a line a job, and a band where a finding is on, coloured by its severity."""
    axes = plt.subplots()[1] if ax is None else ax
    for job in jobs:
        own = iterations[iterations["job"] == job]
        axes.plot(own["end"], own["duration_s"], marker=".", label=job)
        for one in findings[findings["job"] == job].itertuples():
            end = own["end"].max() if pd.isna(one.end) else one.end
            axes.axvspan(one.start, end, color=_COLORS[one.severity], alpha=0.15, label=f"{one.kind} {one.subject}")
    axes.set_xlabel("UTC")
    axes.set_ylabel("iteration time [s]")
    axes.set_ylim(bottom=0)
    if jobs:
        axes.legend()
    axes.figure.autofmt_xdate()
    return axes
