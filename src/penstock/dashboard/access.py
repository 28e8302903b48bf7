"""Who may look: on loopback whoever is on this machine, elsewhere who has the token."""

import hmac
import ipaddress
import re
import secrets
from email.message import Message
from http.cookies import CookieError, SimpleCookie
from typing import Final

from penstock.core.errors import SettingError

_TOKEN: Final = re.compile(r"[\w.~-]{16,200}", re.ASCII)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address.

    >>> [is_loopback(host) for host in ("127.0.0.1", "localhost", "::1", "0.0.0.0")]
    [True, True, True, False]
    """
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def token_for(host: str, given: str | None) -> str | None:
    """The token that is needed: the one given, a new one off loopback, else none."""
    if given is None:
        return None if is_loopback(host) else secrets.token_urlsafe(24)
    if not _TOKEN.fullmatch(given):
        raise SettingError(
            "a token needs 16 to 200 letters, digits or any of - _ . ~, "
            f"got {len(given)} characters; leave it out and one is made"
        )
    return given


class Gate:
    """Decides about each request from its headers and its query."""

    def __init__(self, host: str, port: int, token: str | None) -> None:
        self.token = token
        self.cookie = f"penstock-{port}"  # cookies do not tell ports apart by themselves
        self._local = is_loopback(host)
        self._host = host.lower()

    def refusal(self, headers: Message, given: str | None) -> tuple[int, str] | None:
        """Why a request is refused, with its status; None where it is not."""
        host = headers.get("Host", "")
        if self._local and not self._is_ours(host):
            return (
                403,
                f"this page is for this machine only; open it as localhost, not as {host[:80]!r}",
            )
        if self.token is not None and not self._knows(headers, given):
            return (
                401,
                "a token is needed; open the address that penstock printed, with its ?token=",
            )
        return None

    def _is_ours(self, host: str) -> bool:
        """Whether a Host header names this machine: a page elsewhere may have its own name point
        here, to read with the visitor's browser what it could not reach itself."""
        name = re.sub(r":\d+$", "", host).strip("[]").lower()
        return name == self._host or is_loopback(name)

    def _knows(self, headers: Message, given: str | None) -> bool:
        scheme, _, bearer = headers.get("Authorization", "").partition(" ")
        found = (given, bearer.strip() if scheme.lower() == "bearer" else None, self._kept(headers))
        return any(self._same(word) for word in found if word)

    def _same(self, word: str) -> bool:
        return hmac.compare_digest(word.encode(), (self.token or "").encode())

    def _kept(self, headers: Message) -> str | None:
        try:
            found = SimpleCookie(headers.get("Cookie", "")).get(self.cookie)
        except CookieError:
            return None
        return found.value if found else None
