"""Passwords: kept as scrypt hashes, which make each guess cost time and memory."""

from __future__ import annotations

import base64
import hashlib
import secrets

from datamodel.errors import InputError

SHORTEST = 12
LONGEST = 1000
# 2**15 blocks of 8 x 128 bytes are 32 MiB, three times over: what OWASP holds to be enough, some 0.2 s.
_LOG_COST, _BLOCK, _TIMES = 15, 8, 3
_MEMORY_BYTES = 64 << 20


def hash_password(password: str) -> str:
    """`scrypt$LOG_COST$BLOCK$TIMES$SALT$HASH`, the last two in base64.

    Raises:
        InputError: the password is too short or too long.
    """
    if not SHORTEST <= len(password) <= LONGEST:
        raise InputError(f"a password has {SHORTEST} to {LONGEST} characters, this one has {len(password)}")
    salt = secrets.token_bytes(16)
    made = _scrypt(password, salt, _LOG_COST, _BLOCK, _TIMES)
    return f"scrypt${_LOG_COST}${_BLOCK}${_TIMES}${_text(salt)}${_text(made)}"


def verify_password(password: str, kept: str) -> bool:
    """Whether it is the password whose hash was kept; takes as long where there is none."""
    scheme, *rest = kept.split("$")
    if scheme != "scrypt" or len(rest) != 5:
        _scrypt(password[:LONGEST], b"nobody", _LOG_COST, _BLOCK, _TIMES)
        return False
    cost, block, times = map(int, rest[:3])
    salt, expected = (base64.b64decode(part) for part in rest[3:])
    return secrets.compare_digest(_scrypt(password[: LONGEST + 1], salt, cost, block, times), expected)


def _scrypt(password: str, salt: bytes, log_cost: int, block: int, times: int) -> bytes:
    raw = password.encode(errors="surrogatepass")
    return hashlib.scrypt(raw, salt=salt, n=1 << log_cost, r=block, p=times, maxmem=_MEMORY_BYTES, dklen=32)


def _text(raw: bytes) -> str:
    return base64.b64encode(raw).decode()
