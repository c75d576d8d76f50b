"""Addresses of model servers; pure, and quick to load."""

from ipaddress import ip_address
from urllib.parse import urlsplit


def is_loopback(host: str) -> bool:
    """Whether a host name is this very machine."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def is_here(base_url: str) -> bool:
    """Whether a server listens on this very machine."""
    return is_loopback(urlsplit(base_url).hostname or "")


def why_no_server(base_url: str) -> str | None:
    """Why a base URL cannot be used, in words that do not repeat it; None when it can."""
    try:
        parts = urlsplit(base_url)
        _ = parts.port, (parts.hostname or "").encode("idna")
        host = parts.hostname
    except ValueError:  # a bracket that is not closed, a port that is no number, a name with nothing between its dots
        host = None
    if host is None or parts.scheme not in ("http", "https"):
        return "it is not an http(s) address; give one like http://127.0.0.1:11434/v1"
    if "@" in parts.netloc:
        return "it holds a credential; put that into the environment as SUREFOOT_API_KEY"
    return None
