"""Reading a page that the user named, from a real server."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from surefoot.errors import UsageError
from surefoot.plan.fetch import fetch


class Pages(BaseHTTPRequestHandler):
    """One page, one that is too large, and nothing else."""

    def do_GET(self) -> None:
        """Answer."""
        pages = {"/rules": b"<p>No discount</p>", "/large": b"x" * 2_100_000}
        data = pages.get(self.path, b"")
        self.send_response(200 if data else 404)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the library's name
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Pages) as pages:
        thread = threading.Thread(target=pages.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{pages.server_port}"
        finally:
            pages.shutdown()
            thread.join()


def test_a_page_is_read_whole(server: str) -> None:
    """As it was sent."""
    assert fetch(f"{server}/rules") == b"<p>No discount</p>"


@pytest.mark.parametrize(
    ("path", "why"), [("/none", "404"), ("/large", "larger than"), ("0/rules", "cannot be read")]
)
def test_what_cannot_be_had_is_an_error_with_the_mend(server: str, path: str, why: str) -> None:
    """It names the page, and says that a file does as well."""
    with pytest.raises(UsageError, match=why) as caught:
        fetch(f"{server}{path}")
    assert path in str(caught.value)
    assert "file" in str(caught.value)
