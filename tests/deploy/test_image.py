"""The Dockerfile: two stages, nobody's root, and all that the service needs."""

from __future__ import annotations

import re

from tests.deploy.shipped import API, EXPORTERS, dockerfile, settings
from tests.house.checkout import ROOT, packages


def arguments(name: str) -> list[str]:
    """What stands behind each instruction of a name."""
    return [said for instruction, said in dockerfile() if instruction == name]


def last_stage() -> list[tuple[str, str]]:
    """Instructions of the stage that is shipped."""
    lines = dockerfile()
    begins = [n for n, (instruction, _) in enumerate(lines) if instruction == "FROM"]
    return lines[begins[-1] :]


def test_there_are_two_stages_of_one_pinned_image() -> None:
    """What building needs is left behind."""
    build, run = arguments("FROM")
    assert build == f"{run} AS build"
    assert re.fullmatch(r"python:3\.1[123]\.\d+-slim-\w+", run)


def test_every_room_is_in_the_image() -> None:
    """All packages, and what installing them needs, pass the .dockerignore, and nothing else does."""
    copied = {source for said in arguments("COPY") if "--from" not in said for source in said.split()[:-1]}
    assert packages() <= copied
    assert all((ROOT / source).exists() for source in copied)
    ignore = (ROOT / ".dockerignore").read_text().split()
    assert ignore[0] == "*"
    assert {line.removeprefix("!") for line in ignore if line.startswith("!")} == copied


def test_versions_are_those_that_were_tried() -> None:
    """The image installs what constraints.txt says."""
    (install,) = (said for said in arguments("RUN") if "pip install" in said)
    assert "--constraint constraints.txt" in install
    assert "[postgresql]" in install


def test_nobody_is_root() -> None:
    """A user by number, so that Kubernetes can see that it is not root."""
    (user,) = (said for instruction, said in last_stage() if instruction == "USER")
    assert user == "10001:10001"
    assert any("--uid 10001" in said for instruction, said in last_stage() if instruction == "RUN")


def test_it_writes_to_its_volume_only() -> None:
    """Store and compiled decoders lie in the volume."""
    (volume,) = arguments("VOLUME")
    said = dict(re.findall(r"(\w+)=(\S+)", " ".join(arg for name, arg in last_stage() if name == "ENV")))
    variables = {name: value for name, value in said.items() if name.startswith("FLOWPRISM_")}
    assert str(settings_of(variables)) == volume
    assert said["NUMBA_CACHE_DIR"].startswith(volume)


def settings_of(variables: dict[str, str]) -> object:
    """The store's folder under these variables."""
    return settings(ROOT / "deploy" / "compose" / "small.yaml", variables).store.folder


def test_ports_are_the_services_defaults() -> None:
    """Those that are exposed are those that are listened on."""
    exposed = {(int(port.split("/")[0]), port.split("/")[1]) for said in arguments("EXPOSE") for port in said.split()}
    assert exposed == {*EXPORTERS, API}
