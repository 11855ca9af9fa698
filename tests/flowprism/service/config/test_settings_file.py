"""Settings: what counts where file and environment speak, and where a mistake is said to be."""

from pathlib import Path

import pytest

from datamodel.errors import InputError
from flowprism.service.config.settings import Settings, shown
from flowprism.service.config.settings_file import load_settings

POLICIES = """\
scans:
  policies:
    - name: fast
      every_s: 30
      window_s: 300
    - name: slow
      every_s: 600
      window_s: 3600
"""


def complaint(path: Path, text: str, environ: dict[str, str] | None = None) -> str:
    """What is said of a file, without its folder."""
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        load_settings(path, environ or {})
    return str(caught.value).replace(f"{path.parent}/", "")


def test_nothing_said_is_enough() -> None:
    """Without a file and variables every setting has its default."""
    assert load_settings(None, {}) == Settings()


def test_other_variables_do_not_count() -> None:
    """A variable that is named like a section is not ours."""
    assert load_settings(None, {"STORE": "{}", "API": "x", "PATH": "/bin"}) == Settings()


def test_environment_goes_before_the_file(tmp_path: Path) -> None:
    """A variable replaces what the file says, and leaves the rest of the section alone."""
    path = tmp_path / "flowprism.yaml"
    path.write_text("api: {host: 10.0.0.1, port: 9000}\n")
    api = load_settings(path, {"FLOWPRISM_API__PORT": "9001"}).api
    assert (api.host, api.port) == ("10.0.0.1", 9001)


def test_lists_in_the_environment_are_json() -> None:
    """What has parts is JSON in a variable."""
    settings = load_settings(None, {"FLOWPRISM_COLLECT__ALLOW": '["10.0.0.0/8"]'})
    assert settings.collect.allow == ("10.0.0.0/8",)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (POLICIES.replace("every_s: 600", "every: 600"), "f.yaml:7: scans.policies[1].every: no such setting"),
        (
            POLICIES.replace("every_s: 30", "every_s: 0"),
            "f.yaml:4: scans.policies[0].every_s: input should be greater than or equal to 1",
        ),
        (POLICIES.replace("slow", "fast"), "f.yaml:1: scans: two policies are named fast"),
        (
            POLICIES.replace("3600", "60"),
            "f.yaml:6: scans.policies[1]: window_s is shorter than every_s: what is between windows would not be seen",
        ),
        ("stores: {}\n", "f.yaml:1: stores: no such setting"),
        ("api:\n  port: 1\n  port: 2\n", "f.yaml:3: port stands twice"),
        ("api:\n  port: [\n", "f.yaml:3: did not find expected node content"),
        ("- api\n", "f.yaml:1: expected sections such as `store:` at the top"),
        ("collect:\n  allow: [10.1.2.3/8]\n", "f.yaml:2: collect.allow[0]: 10.1.2.3/8 has host bits set"),
        (
            "collect:\n  listen: ['nowhere']\n",
            "f.yaml:2: collect.listen[0]: expected [tcp:]HOST:PORT, an IPv6 address in brackets, * for every address",
        ),
        (
            "collect:\n  workers: 4-1\n",
            "f.yaml:2: collect.workers: expected a number of workers from 1 to 64, or a range such as 1-4",
        ),
        (
            "alerts:\n  receivers:\n    - {name: a, kind: webhook}\n",
            "f.yaml:3: alerts.receivers[0].url: field required",
        ),
    ],
)
def test_mistake_is_named_with_its_line(tmp_path: Path, text: str, expected: str) -> None:
    """One line says file, line, key and cause."""
    assert complaint(tmp_path / "f.yaml", text) == expected


def test_further_mistakes_are_counted(tmp_path: Path) -> None:
    """The first is told, and how many more there are."""
    assert complaint(tmp_path / "f.yaml", "x: 1\ny: 2\nz: 3\n") == "f.yaml:1: x: no such setting (and 2 more)"


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"FLOWPRISM_API__PORT": "high"}, "FLOWPRISM_API__PORT: input should be a valid integer"),
        ({"FLOWPRISM_API__PROT": "1"}, "FLOWPRISM_API__PROT: no such setting"),
        ({"FLOWPRISM_APIS__PORT": "1"}, "FLOWPRISM_APIS__PORT: no setting; known sections: store, collect"),
        ({"FLOWPRISM_SCANS__POLICIES": '[{"name": ""}]'}, "FLOWPRISM_SCANS__POLICIES: string should have"),
        ({"FLOWPRISM_SCANS__POLICIES": "[{"}, "FLOWPRISM_SCANS: not the JSON"),
    ],
)
def test_mistake_in_a_variable_names_it(tmp_path: Path, environ: dict[str, str], expected: str) -> None:
    """What the environment says wrong is not blamed on the file."""
    assert complaint(tmp_path / "f.yaml", "api: {host: '::1'}\n", environ).startswith(expected)


def test_missing_file_is_one_line(tmp_path: Path) -> None:
    """A file that is not there is named."""
    with pytest.raises(InputError, match=r"none\.yaml: No such file or directory$"):
        load_settings(tmp_path / "none.yaml", {})


def test_secrets_are_neither_shown_nor_repeated(tmp_path: Path) -> None:
    """`config show` has stars for passwords, and a complaint does not repeat what was set."""
    path = tmp_path / "f.yaml"
    path.write_text("store: {results: 'postgresql://u:geheim@h/x'}\ncollect: {kafka: {sasl.password: geheim}}\n")
    assert "geheim" not in str(shown(load_settings(path, {})))
    assert "geheim" not in complaint(path, "store: {results: {a: geheim}}\n")
