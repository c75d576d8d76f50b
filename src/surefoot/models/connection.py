"""What the environment says of connections: proxies and certificates."""

from collections.abc import Iterator
from contextlib import contextmanager

from surefoot.errors import ModelUnavailableError


@contextmanager
def connecting() -> Iterator[None]:
    """For the making of HTTP clients, which read it.

    Raises:
        ModelUnavailableError: What it says cannot be used.
    """
    try:
        yield
    except (ImportError, ValueError, OSError) as problem:
        raise ModelUnavailableError(
            f"no connection can be made: {problem}; mend what ALL_PROXY, HTTP_PROXY, HTTPS_PROXY, SSL_CERT_FILE and "
            "SSL_CERT_DIR say in the environment"
        ) from problem
