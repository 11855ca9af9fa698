"""Settings from a YAML file and the environment. Whatever is wrong becomes one line: `FILE:LINE: key: cause`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError
from pydantic_settings import EnvSettingsSource, SettingsError

from datamodel.errors import InputError
from flowprism.inputs.yaml_checks import repeated_key
from flowprism.service.config.settings import Settings

PREFIX, BETWEEN = "FLOWPRISM_", "__"

Location = tuple[int | str, ...]


class _Environment(EnvSettingsSource):
    """Settings of variables `FLOWPRISM_SECTION__NAME`; what is no single value is JSON."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = {name.lower(): value for name, value in environ.items()}
        super().__init__(Settings, env_prefix=PREFIX, env_nested_delimiter=BETWEEN, case_sensitive=False)

    def _load_env_vars(self) -> Mapping[str, str | None]:
        return self._environ


def load_settings(path: Path | None, environ: Mapping[str, str]) -> Settings:
    """The settings that a file and the environment say together; the environment goes before the file.

    Args:
        path: a YAML file; None for none.
        environ: variables; those whose names begin with `FLOWPRISM_` are read.

    Raises:
        InputError: the file cannot be read, or a setting is not known or cannot be used; the message names file and
            line, or the variable.
    """
    root, document = (None, {}) if path is None else _read(path)
    said = _from_environment(environ)
    try:
        return Settings.model_validate(_merged(document, said))
    except ValidationError as error:
        raise InputError(_first(error, path, root, said)) from None


def _read(path: Path) -> tuple[yaml.Node | None, dict[str, Any]]:
    try:
        loader = yaml.CSafeLoader(path.read_text(encoding="utf-8-sig"))
    except UnicodeDecodeError:
        raise InputError(f"{path}: not UTF-8 text") from None
    except (OSError, yaml.YAMLError) as error:
        raise InputError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    try:
        root = loader.get_single_node()
        if root is None:  # nothing but comments: every setting has a default
            return None, {}
        if not isinstance(root, yaml.MappingNode):
            raise InputError(f"{path}:1: expected sections such as `store:` at the top")
        if (key := repeated_key(root)) is not None:
            raise InputError(f"{path}:{key.start_mark.line + 1}: {key.value} stands twice")
        return root, loader.construct_document(root)
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        raise InputError(f"{path}{line}: {error.problem or 'not YAML'}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise InputError(f"{path}: not YAML: {error}") from None
    finally:
        loader.dispose()


def _from_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    for name in sorted(environ):
        section = name.upper().removeprefix(PREFIX).partition(BETWEEN)[0].lower()
        if name.upper().startswith(PREFIX) and section not in Settings.model_fields:
            raise InputError(f"{name}: no setting; known sections: {', '.join(Settings.model_fields)}")
    try:
        return _Environment(environ)()
    except SettingsError as error:
        section = str(error).partition('"')[2].partition('"')[0]
        raise InputError(f"{PREFIX}{section.upper()}: not the JSON of a section or setting") from None


def _merged(low: Any, high: Any) -> Any:  # noqa: ANN401 - whatever YAML and JSON hold
    """Two documents as one; where both say something the second one counts."""
    if not isinstance(low, dict) or not isinstance(high, dict):
        return high
    return {name: _merged(low[name], high[name]) if name in low and name in high else (high | low)[name]
            for name in {**low, **high}}  # fmt: skip


def _first(error: ValidationError, path: Path | None, root: yaml.Node | None, said: Mapping[str, Any]) -> str:
    """The first complaint, where the setting stands, and how many more there are."""
    complaints = error.errors(include_url=False, include_input=False)
    first = complaints[0]
    location = _without_branches(first["loc"], root, said)
    what = "no such setting" if first["type"] == "extra_forbidden" else first["msg"].removeprefix("Value error, ")
    more = f" (and {len(complaints) - 1} more)" if len(complaints) > 1 else ""
    what = f"{what[:1].lower()}{what[1:]}{more}"
    if variable := _variable(location, said):
        return f"{variable}: {what}"
    line = _line(root, location)
    return f"{path}{f':{line}' if line and location else ''}: {_dotted(location)}{': ' if location else ''}{what}"


def _dotted(location: Location) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location).removeprefix(".")


def _without_branches(location: Location, root: yaml.Node | None, said: Mapping[str, Any]) -> Location:
    """A location without what pydantic puts in for the branch of a union, such as the kind of a receiver."""
    kept: list[int | str] = []
    for n, part in enumerate(location):
        is_branch = n and isinstance(location[n - 1], int) and isinstance(part, str) and n + 1 < len(location)
        there = (*kept, part)
        if is_branch and _found(root, there) is None and not _variable(there, said):
            continue
        kept.append(part)
    return tuple(kept)


def _variable(location: Location, said: Mapping[str, Any]) -> str:
    """The name of the variable that said what stands at a location; empty where it was none."""
    names: list[str] = []
    inside: Any = said
    for part in location:
        if not isinstance(inside, Mapping) or part not in inside:
            break
        names.append(str(part).upper())
        inside = inside[part]
    is_said = bool(names) and (len(names) == len(location) or not isinstance(inside, Mapping))
    return PREFIX + BETWEEN.join(names) if is_said else ""


def _found(root: yaml.Node | None, location: Location) -> yaml.Node | None:
    """The key or item at a location of the file; None where the file does not have it."""
    node, key = root, root
    for part in location:
        if isinstance(node, yaml.MappingNode):
            key, node = next(((k, v) for k, v in node.value if k.value == str(part)), (None, None))
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            key = node = node.value[part]
        else:
            return None
        if key is None:
            return None
    return key


def _line(root: yaml.Node | None, location: Location) -> int:
    """The line of the deepest part of a location that the file has, from 1; 0 where there is no file."""
    for length in range(len(location), -1, -1):
        if (found := _found(root, location[:length])) is not None:
            return int(found.start_mark.line) + 1
    return 0
