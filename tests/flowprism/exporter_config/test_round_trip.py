"""What is written in a vendor's language is read back as the same settings."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from datamodel.errors import InputError
from flowprism.exporter_config.commands import Command, changes
from flowprism.exporter_config.dialects import DIALECTS, recognize
from flowprism.exporter_config.model import Vendor
from tests.flowprism.exporter_config.drawn import configs
from tests.flowprism.exporter_config.sample import SAMPLES

quick = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.parametrize("vendor", list(Vendor))
@quick
@given(data=st.data())
def test_written_settings_are_read_back(vendor: Vendor, data: st.DataObject) -> None:
    """`read(write(x)) = x`, and every statement is understood."""
    dialect = DIALECTS[vendor]
    config = data.draw(configs(vendor))
    text = dialect.write(config)
    back = dialect.read(text, "leaf1.conf")
    assert back.flows == config.flows, text
    if back.sampling is None:  # no line is needed to say that nothing is configured
        assert config.sampling == DIALECTS[vendor].blank
    else:
        assert back.sampling == config.sampling, text
    assert back.around.unread == ()


@pytest.mark.parametrize("vendor", list(Vendor))
@quick
@given(data=st.data())
def test_changes_lead_from_one_configuration_to_the_other(vendor: Vendor, data: st.DataObject) -> None:
    """Typed on top of the old configuration, the changes leave the new one; from one to itself there are none."""
    dialect = DIALECTS[vendor]
    old, new = (dialect.commands(data.draw(configs(vendor))) for _ in range(2))
    state = {command.setting: command for command in old if command.undo or command in new or _kept(command, new)}
    undone = {(command.context, command.undo): command.setting for command in old if command.undo}
    for command in changes(old, new):
        taken_back = undone.get((command.context, command.line))
        if taken_back is not None and command not in new:
            del state[taken_back]
        else:
            state[command.setting] = command
    assert state == {command.setting: command for command in new}
    assert changes(old, old) == []


def _kept(command: Command, new: list[Command]) -> bool:
    return command.setting in {other.setting for other in new}


@pytest.mark.parametrize("vendor", list(Vendor))
@quick
@given(data=st.data())
def test_readers_survive_damage(vendor: Vendor, data: st.DataObject) -> None:
    """A text that is cut off or has lines missing is read without an exception but those for users."""
    text = DIALECTS[vendor].write(data.draw(configs(vendor)))
    lines = text.splitlines(keepends=True)
    missing = data.draw(st.sets(st.integers(0, 30), max_size=4))
    kept = "".join(line for number, line in enumerate(lines) if number not in missing)
    cut = kept[: data.draw(st.integers(0, len(kept)))]
    with suppress(InputError):
        assert DIALECTS[vendor].read(cut, "leaf1.conf").vendor is vendor


@pytest.mark.parametrize("vendor", list(Vendor))
def test_vendor_is_recognized_by_content(vendor: Vendor) -> None:
    """A written configuration of any vendor is recognized without its name."""
    assert recognize(DIALECTS[vendor].write(SAMPLES[vendor])) is vendor
