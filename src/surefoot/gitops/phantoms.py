"""Files that git takes for changed though nobody touched them, and filters that are missing.

Where attributes convert a file (line endings, a filter, `ident`), what is committed may not be what adding the file
again would give: a `.bat` with CRLF in its blob under `*.bat text` is the common case. Whether git then calls the
untouched file changed depends on the second it was written in. A turn's tree may not depend on that.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from surefoot.errors import EnvironmentBrokenError
from surefoot.gitops.git import Git, encode
from surefoot.gitops.objects import GITLINK, LINK, Entry, Objects
from surefoot.vocabulary import TreeId

_ATTRIBUTES: Final = ("filter", "text", "eol", "crlf", "ident", "working-tree-encoding")
_OFF: Final = frozenset({"unspecified", "unset"})


class Conversions:
    """The paths of a worktree whose content git converts."""

    def __init__(self, git: Git, objects: Objects, paths: frozenset[str]) -> None:
        self._git = git
        self._objects = objects
        self._paths = paths

    @classmethod
    def of(cls, git: Git, objects: Objects, listing: Mapping[str, Entry]) -> "Conversions":
        """Look at a worktree that has been filled.

        Raises:
            EnvironmentBrokenError: Files are kept in Git LFS, and git-lfs is not set up.
        """
        files = [path for path, entry in listing.items() if entry.mode not in {GITLINK, LINK}]
        attributes = _attributes(git, files)
        stored = [path for path, found in attributes.items() if found.get("filter") == "lfs"]
        if stored and git.run("config", "filter.lfs.clean", ok=(0, 1)).exit_code != 0:
            raise EnvironmentBrokenError(
                f"{stored[0]!r} and {len(stored) - 1} other files are kept in Git LFS, which is not set up here; "
                "install git-lfs, run `git lfs install` and `git lfs pull`"
            )
        paths = frozenset(path for path, found in attributes.items() if _converts(found))
        return cls(git, objects, paths)

    def genuine(self, root: Path, known: TreeId, tree: TreeId) -> TreeId:
        """`tree` without changes of files that hold exactly what checking `known` out gives."""
        if tree == known or not self._paths:
            return tree
        changed = self._objects.changed(known, tree)
        suspects = [p for p, status in changed.items() if status == "M" and p in self._paths]
        before, after = self._objects.listing(known), self._objects.listing(tree)
        same: dict[str, Entry | None] = {
            path: Entry(after[path].mode, before[path].oid)
            for path in suspects
            if self._is_untouched(root, path, before[path].oid)
        }
        return self._objects.put_entries(self._git, same) if same else tree

    def _is_untouched(self, root: Path, path: str, oid: str) -> bool:
        fresh = self._git.run("cat-file", "--filters", f"--path={path}", oid).stdout
        return (root / path).read_bytes() == fresh


def _attributes(git: Git, files: list[str]) -> dict[str, dict[str, str]]:
    """The attributes that are set, by path; paths without any are left out."""
    names = b"".join(encode(path) + b"\0" for path in files)
    fields = iter(git.run("check-attr", "--stdin", "-z", *_ATTRIBUTES, stdin=names).fields)
    found: dict[str, dict[str, str]] = {}
    for path, attribute, value in zip(fields, fields, fields, strict=True):
        if value not in _OFF:
            found.setdefault(path, {})[attribute] = value
    return found


def _converts(found: Mapping[str, str]) -> bool:
    """Whether adding such a file again may give another blob. `text=auto` never does: git spares CRLF blobs."""
    by_itself = {"filter", "ident", "working-tree-encoding"} & found.keys()
    text = found.get("text", found.get("crlf"))
    return bool(by_itself) or (text != "auto" and (text is not None or "eol" in found))
