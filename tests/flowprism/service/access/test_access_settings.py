"""The section `access`, and that nobody serves the world without asking who it is."""

from __future__ import annotations

from ipaddress import ip_network

import pytest
from pydantic import ValidationError

from datamodel.errors import InputError
from flowprism.service.access.access_settings import AccessSettings, check_listening, is_loopback

EVERY = "0.0.0.0"  # noqa: S104 - what must be refused


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.1", "::1", "[::1]", "localhost", "::ffff:127.0.0.1"])
def test_loopback(host: str) -> None:
    """What only this machine reaches needs no authentication."""
    assert is_loopback(host)
    check_listening(AccessSettings(), host)


@pytest.mark.parametrize("host", [EVERY, "::", "", "10.0.0.1", "::ffff:10.0.0.1", "example.org", "127.0.0.1.example"])
def test_elsewhere(host: str) -> None:
    """Everything else is refused at start with the setting's name, unless there is authentication."""
    with pytest.raises(InputError, match=r"^api\.host: .*access\.mode is none: set access\.mode to login or proxy"):
        check_listening(AccessSettings(), host)
    check_listening(AccessSettings(mode="login"), host)
    check_listening(AccessSettings(mode="proxy", trusted_proxies=(ip_network("10.0.0.0/8"),)), host)


def test_contradictions() -> None:
    """A proxy without an address would be anybody; grants that are never read are a mistake."""
    with pytest.raises(ValidationError, match="trusted_proxies must say whose word is taken"):
        AccessSettings(mode="proxy")
    with pytest.raises(ValidationError, match="grants are for mode proxy only"):
        AccessSettings.model_validate({"mode": "login", "grants": [{"group": "ml", "role": "viewer"}]})
    with pytest.raises(ValidationError, match="an admin sees all tenants' jobs"):
        AccessSettings.model_validate(
            {"mode": "proxy", "trusted_proxies": ["::1"], "grants": [{"group": "a", "role": "admin", "tenant": "t1"}]}
        )
