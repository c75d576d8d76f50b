"""Reading a page that the user named, when the user allowed the network; nothing else of a planning touches it."""

from typing import Final

import httpx

from surefoot.errors import UsageError

_SECONDS: Final = 20.0
_MOST_BYTES: Final = 2_000_000


def fetch(url: str) -> bytes:
    """The bytes behind a URL, whole.

    Raises:
        UsageError: It cannot be had, or is larger than 2 MB.
    """
    data = b""
    try:
        with httpx.stream("GET", url, timeout=_SECONDS, follow_redirects=True) as reply:
            reply.raise_for_status()
            for piece in reply.iter_bytes():
                data += piece
                if len(data) > _MOST_BYTES:
                    raise UsageError(
                        f"{url} is larger than {_MOST_BYTES} bytes; save what matters as a file"
                    )
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise UsageError(
            f"{url} cannot be read: {error}; save it as a file and name that"
        ) from None
    return data
