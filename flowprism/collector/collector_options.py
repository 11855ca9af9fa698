"""Settings of a collector run."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from capture.configured_rates import SamplingRates
from capture.receive.sockets import Listen
from datamodel.errors import InputError
from flowprism.collector.sources import Source
from storage.lake.object_store import is_address, redact_address

# The ports registered for sFlow and IPFIX, and the one that NetFlow exporters commonly use (it has none).
_SFLOW_PORT, _NETFLOW_PORT, _IPFIX_PORT = 6343, 2055, 4739
DEFAULT_LISTENS = (
    Listen("*", _SFLOW_PORT),
    Listen("*", _NETFLOW_PORT),
    Listen("*", _IPFIX_PORT),
    Listen("*", _IPFIX_PORT, tcp=True),
)
MOST_WORKERS = 64
_TCP_PREFIX = "tcp:"


@dataclass(frozen=True, slots=True)
class CollectorOptions:
    """Settings of one run.

    Attributes:
        out: lake that records are kept in, a folder or an address such as `s3://BUCKET/PREFIX`.
        folder: of this machine, for what is no lake's where `out` is an address: see `home`.
        keep: whether the lake is kept too, with the usual limits; `flowprism compact` has others.
        listens: where exporters send to; none where only `sources` are read.
        sources: mirrors, and topics of at most one Kafka.
        workers: pairs of processes that share the exporters, at first.
        most_workers: so many there may be as load demands, and never fewer than `workers`; 0: their number stays.
        allow: networks that may send; empty for all.
        rates: configured sampling rates.
        commit_every_s: after which what was received is made durable, at the latest.
        ring_bytes: memory of each worker for datagrams that are not durable yet.
        buffer_bytes: kernel memory to ask for, for each socket.
        corrects_clocks: whether records of wrong clocks are moved to when they were received; without that, recorded
            datagrams that are played back keep their times.
        thins: whether a worker that cannot keep up thins out flow samples of sFlow (`thinning_control`).
        decoder: module and name of what makes the decoder from sampling rates.
    """

    out: Path | str
    folder: Path | None = None
    keep: bool = False
    listens: tuple[Listen, ...] = DEFAULT_LISTENS
    sources: tuple[Source, ...] = ()
    workers: int = 1
    most_workers: int = 0
    allow: tuple[str, ...] = ()
    rates: SamplingRates = field(default_factory=SamplingRates)
    commit_every_s: float = 5.0
    ring_bytes: int = 256 << 20
    buffer_bytes: int = 64 << 20
    corrects_clocks: bool = False
    thins: bool = True
    decoder: str = "capture.export_decoder:ExportDecoder"

    @property
    def home(self) -> Path:
        """The folder of lock, status and datagrams set aside.

        Raises:
            InputError: the lake is no folder, and none was named.
        """
        if is_address(self.out):
            if self.folder is None:
                raise InputError(f"{redact_address(self.out)}: a bucket also needs a local folder for lock and status")
            return self.folder
        return Path(self.out)


def parse_listen(text: str) -> Listen:
    """Where `[tcp:]HOST:PORT` says to listen; an IPv6 address stands in brackets, * is every address.

    Raises:
        InputError: it is not of that form.
    """
    tcp = text.startswith(_TCP_PREFIX)
    host, _, port = text.removeprefix(_TCP_PREFIX).rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    if not host or not port.isascii() or not port.isdigit() or int(port) > 65535 or (":" in host) != bracketed:
        raise InputError(f"--listen {text}: expected [tcp:]HOST:PORT, an IPv6 address in brackets, * for every address")
    return Listen(host.strip("[]"), int(port), tcp)


def parse_workers(text: str) -> tuple[int, int]:
    """The number of workers at first and at most, the latter 0 where the number stays, of `N` or `N-M`.

    Raises:
        InputError: it is neither.
    """
    least, dash, most = text.partition("-")
    numbers = [int(part) for part in ((least, most) if dash else (least,)) if part.isascii() and part.isdigit()]
    if len(numbers) != (2 if dash else 1) or numbers != sorted(numbers) or not 1 <= numbers[0] <= MOST_WORKERS:
        raise InputError(f"{text}: expected a number of workers from 1 to {MOST_WORKERS}, or a range such as 1-4")
    if numbers[-1] > MOST_WORKERS:
        raise InputError(f"{text}: there are at most {MOST_WORKERS} workers")
    return numbers[0], numbers[1] if dash else 0
