"""How fast each endpoint sends and receives over the mean iteration of a job whose transfers samples do not show."""

from __future__ import annotations

from datamodel.frame import Column, Schema

# Endpoints times bins that an analysis keeps of a job: 100,000 rows are some megabytes.
MOST_ROWS = 100_000

_COLUMNS = (
    Column("endpoint", "i4", "code", "whose traffic"),
    Column(
        "pace", "i4", "", "0: the iterations of about the median time; 1: of the others those of about their median"
    ),
    Column("bin", "i4", "", "which of the equal parts of the iteration's time, from 0"),
    Column("bins", "i4", "", "how many parts the iteration is divided into"),
    Column("iterations", "i4", "", "iterations that the mean is of"),
    Column("iteration_ns", "i8", "ns", "their mean time"),
    Column("sent_bps", "f8", "bit/s", "mean rate at which it sends in this part"),
    Column("sent_error_bps", "f8", "bit/s", "standard error of that; the 95 % interval is 1.96 of them either way"),
    Column("received_bps", "f8", "bit/s", "mean rate at which it receives in this part"),
    Column("received_error_bps", "f8", "bit/s", "standard error of that"),
)

RATES = Schema("mean_rates", _COLUMNS)

ENDPOINT_RATES = Schema(
    "rates",
    (
        Column("job", "i4", "code", "whose iteration"),
        Column("start_ns", "i8", "ns", "begin of the window, UTC"),
        Column("end_ns", "i8", "ns", "end of the window, UTC"),
        *_COLUMNS,
    ),
)
