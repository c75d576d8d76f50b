"""Fingerprints of the user's checkout, to prove that nothing in it was touched (promise 2).

A fingerprint maps names to digests: `file:<path>`, `git:<path in a git folder>`, `ref:<name>`, `status`. Ours are left
out: refs, worktree entries and `.surefoot/`; so are objects, to which git may add without changing anything.
"""

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from surefoot.gitops import admin
from surefoot.gitops.lease import Home
from surefoot.gitops.refs import BRANCHES, KEPT, all_refs, is_ours
from surefoot.gitops.repository import Repository

_NO_STATE: Final = ("objects", "reftable", "refs", "packed-refs", "lfs")
"""Of a git folder: what holds content, and refs, which are asked for by name."""


def manifest(repository: Repository, *, home: Path) -> Mapping[str, str]:
    """All of it, byte for byte: files, modes, links, index, HEAD, refs, stash, reflogs, configuration, hooks.

    `home` says which worktree entries are ours.
    """
    found = _refs(repository)
    for path, digest in _folder(repository.root, frozenset({Path(".git"), Path(".surefoot")})):
        found[f"file:{path}"] = digest
    left_out = {Path(part) for part in _NO_STATE}
    left_out |= {Path("logs") / BRANCHES.rstrip("/"), Path("logs") / KEPT.rstrip("/")}
    # A git command that outlives its killed run may still be making an entry: which are ours is asked on both sides.
    ours = _ours(repository, home.resolve())
    there = dict(_folder(repository.common_dir, frozenset(left_out)))
    ours |= _ours(repository, home.resolve())
    for path, digest in there.items():
        if path not in ours and ours.isdisjoint(path.parents):
            found[f"git:{path}"] = digest
    found.pop("git:worktrees", None)  # the folder, there while any worktree is
    return found


def _ours(repository: Repository, home: Path) -> set[Path]:
    """Worktree entries of ours, those that git has only begun to make included."""
    known = admin.entries(repository.common_dir).items()
    found = [entry for entry, folder in known if folder.is_relative_to(home)]
    begun = (admin.begun(repository.common_dir, run_id) for run_id in Home(root=home).run_ids())
    both = (*found, *(entry for entry in begun if entry is not None))
    return {entry.relative_to(repository.common_dir) for entry in both}


def _refs(repository: Repository) -> dict[str, str]:
    named = all_refs(repository.git())
    return {f"ref:{name}": oid for name, oid in named.items() if not is_ours(name)}


def _folder(root: Path, left_out: frozenset[Path]) -> Iterator[tuple[Path, str]]:
    """Every path below `root` with a digest of its kind, mode and content."""
    pending = [root]
    while pending:
        for entry in sorted(pending.pop().iterdir()):
            path = entry.relative_to(root)
            if path in left_out:
                continue
            yield path, _fingerprint(entry)
            if entry.is_dir() and not entry.is_symlink():
                pending.append(entry)


def _fingerprint(path: Path) -> str:
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        content = os.fsencode(path.readlink())
    elif stat.S_ISREG(mode):
        content = path.read_bytes()
    else:
        content = b""
    return f"{mode:o} {_digest(content)}"


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
