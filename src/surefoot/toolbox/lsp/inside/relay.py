"""Runs a language server and prints each of its messages as one line. Runs inside the fence; its arguments are the server's.

The port speaks lines, and a message of the Language Server Protocol does not end with one. The other direction needs no
help: a line may hold a header and its body, so the server reads standard input itself.
"""

import subprocess
import sys
from typing import IO

MOST_BYTES = 64 * 1024**2
HEADER_BYTES = 4096


def body(stream: IO[bytes]) -> bytes | None:
    """The next message, or None at the end of the stream; `ValueError` when it holds anything else."""
    length = None
    while True:
        line = stream.readline(HEADER_BYTES)
        if not line:
            return None
        if line == b"\r\n" and length is not None:
            break
        name, colon, value = line.partition(b":")
        if not colon or not line.endswith(b"\r\n"):
            raise ValueError(f"it printed {line!r} in the place of a header")
        if name.lower() == b"content-length":
            length = int(value)
    if not 0 <= length <= MOST_BYTES:
        raise ValueError(f"it announced a message of {length} bytes")
    data = stream.read(length)
    return data if len(data) == length else None


def main(argv: list[str]) -> int:
    """Relay until the server ends or says what is no message."""
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None  # noqa: S101  # a pipe was asked for
        try:
            while (data := body(server.stdout)) is not None:
                # A line end outside of a JSON string is only white space, and inside it is escaped.
                sys.stdout.buffer.write(data.replace(b"\n", b" ").replace(b"\r", b" ") + b"\n")
                sys.stdout.buffer.flush()
        except ValueError as error:
            server.kill()
            sys.stderr.write(f"this is no language server: {error}\n")
            return 1
    return server.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
