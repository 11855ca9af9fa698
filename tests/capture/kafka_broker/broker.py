"""A real Kafka broker, one node in KRaft mode, and a real GoFlow2; both are fetched once, to a cache elsewhere."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "flowprism-tests"
POM = Path(__file__).with_name("pom.xml")
GOFLOW2 = "github.com/netsampler/goflow2/v2/cmd/goflow2@v2.2.6"
START_SECONDS = 60

PROPERTIES = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{broker},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{broker}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs={folder}/log
auto.create.topics.enable=false
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=500
"""


def tool(name: str) -> str:
    """Where a program is; without it the test is skipped, by its name."""
    found = shutil.which(name) or shutil.which(f"/usr/local/go/bin/{name}") or shutil.which(f"/usr/sbin/{name}")
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def fetched(folder: Path, *command: str, **environment: str) -> Path:
    """`folder`, filled by a command unless it was before; where that fails the test is skipped, with its word."""
    if not folder.is_dir():
        variables = {**os.environ, **environment}
        done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=600, check=False)
        if done.returncode:
            shutil.rmtree(folder, ignore_errors=True)
            pytest.skip(f"{Path(command[0]).name} could not fetch: {(done.stdout + done.stderr).strip()[-200:]}")
    return folder


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on."""
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [server.getsockname()[1] for server in held]
    for server in held:
        server.close()
    return ports


@contextmanager
def stopped_at_the_end(process: "subprocess.Popen[bytes]") -> Iterator["subprocess.Popen[bytes]"]:
    """A process that does not outlive the test."""
    try:
        yield process
    finally:
        process.kill()
        process.wait(10)


class Broker:
    """One node; stopped and started again it has what was written to it before."""

    def __init__(self, folder: Path) -> None:
        """Prepare its folder; the test is skipped where no broker can be had."""
        java, maven = tool("java"), tool("mvn")
        jars = fetched(
            CACHE / "kafka-3.9.1", maven, "-q", "-B", "-f", str(POM), "dependency:copy-dependencies",
            "-DincludeScope=runtime", f"-DoutputDirectory={CACHE / 'kafka-3.9.1'}",
        )  # fmt: skip
        port, controller = free_ports(2)
        self.address, self._out = f"127.0.0.1:{port}", folder / "broker.out"
        settings = folder / "server.properties"
        settings.write_text(PROPERTIES.format(broker=port, controller=controller, folder=folder))
        run = [java, "-Xmx384m", "-cp", f"{jars}/*"]
        format_log = [*run, "kafka.tools.StorageTool", "format", "-t", "AAAAAAAAAAAAAAAAAAAAAQ", "-c", str(settings)]
        subprocess.run(format_log, check=True, capture_output=True)
        self._command = [*run, "kafka.Kafka", str(settings)]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, within_s: float = START_SECONDS) -> None:
        """Start it and wait until it answers."""
        with self._out.open("ab") as out:
            self._process = subprocess.Popen(self._command, stdout=out, stderr=out)
        wait_for(self.address, self._process, within_s)

    def stop(self) -> None:
        """End it, as by a loss of power."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(10)


@contextmanager
def kafka(folder: Path) -> Iterator[str]:
    """A running broker; gives its address."""
    broker = Broker(folder)
    try:
        broker.start()
        yield broker.address
    finally:
        broker.stop()


def wait_for(address: str, process: "subprocess.Popen[bytes]", within_s: float) -> None:
    """Return when the broker answers."""
    until = time.monotonic() + within_s
    while time.monotonic() < until and process.poll() is None:
        try:
            with socket.create_connection(tuple_of(address), 1):
                AdminClient({"bootstrap.servers": address}).list_topics(timeout=10)
                return
        except (OSError, KafkaException):
            time.sleep(0.2)
    raise AssertionError("the broker did not start")


def tuple_of(address: str) -> tuple[str, int]:
    """Host and port."""
    host, _, port = address.partition(":")
    return host, int(port)


def topic(address: str, name: str, partitions: int) -> str:
    """A new topic."""
    admin = AdminClient({"bootstrap.servers": address})
    admin.create_topics([NewTopic(name, partitions, 1)])[name].result(30)
    return name


@contextmanager
def goflow2(address: str, name: str, form: str, sflow_port: int, netflow_port: int, http_port: int) -> Iterator[None]:
    """A GoFlow2 that listens on this machine and writes what it hears to a topic."""
    program = shutil.which("goflow2")
    if program is None:
        go, bin_folder = tool("go"), CACHE / "goflow2-2.2.6"
        fetched(bin_folder, go, "install", GOFLOW2, GOBIN=str(bin_folder))
        program = str(bin_folder / "goflow2")
    command = [
        program, "-listen", f"sflow://127.0.0.1:{sflow_port},netflow://127.0.0.1:{netflow_port}", "-addr",
        f"127.0.0.1:{http_port}", "-format", form, "-transport", "kafka", "-transport.kafka.brokers", address,
        "-transport.kafka.topic", name, "-transport.kafka.flushfreq", "100ms",
    ]  # fmt: skip
    with stopped_at_the_end(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)):
        until = time.monotonic() + 30
        while time.monotonic() < until:
            try:
                with socket.create_connection(("127.0.0.1", http_port), 1):
                    break
            except OSError:
                time.sleep(0.1)
        time.sleep(0.5)  # its UDP sockets come a moment after its HTTP server
        yield
