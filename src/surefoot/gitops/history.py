"""Reading what a run has left in the object store, without believing it: commits, refs, and the bytes behind every id.

Nothing here writes into the repository. Replacement refs and grafts, which change what git shows, have no effect.
"""

import contextlib
import hashlib
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, cast

from surefoot.gitops import refs
from surefoot.gitops.files import remove_tree
from surefoot.gitops.git import Git, decode
from surefoot.gitops.objects import GITLINK, Objects
from surefoot.gitops.repository import Repository
from surefoot.gitops.worktree_git import FULL, fill
from surefoot.values import CommitId, Diff, RunId, TreeId

_AS_STORED: Final = ("core.useReplaceRefs=false",)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitFacts:
    """A commit as its bytes say it."""

    tree: TreeId
    parents: tuple[CommitId, ...]
    message: str
    """Whole, trailers included."""

    def trailer(self, key: str) -> str | None:
        """Value of the last line `key: value`, or None."""
        prefix = f"{key}: "
        lines = (line for line in reversed(self.message.splitlines()) if line.startswith(prefix))
        return next((line.removeprefix(prefix) for line in lines), None)


def read_commit(repository: Repository, commit: CommitId) -> CommitFacts | None:
    """The commit, or None when there is none with this id."""
    found = _git(repository).run("cat-file", "commit", commit, ok=None)
    if found.exit_code != 0:
        return None
    head, _, message = found.stdout.partition(b"\n\n")
    lines = [decode(line).partition(" ") for line in head.split(b"\n")]
    return CommitFacts(
        tree=TreeId(next((rest for key, _, rest in lines if key == "tree"), "")),
        parents=tuple(CommitId(rest) for key, _, rest in lines if key == "parent"),
        message=message.decode("utf-8", "replace"),
    )


def run_refs(repository: Repository, run_id: RunId) -> refs.RunRefs | None:
    """What the refs of a run say; None when it has none, or not enough."""
    return refs.load(_git(repository), run_id)


def objects_of(
    repository: Repository, commits: Sequence[CommitId], trees: Sequence[TreeId] = ()
) -> tuple[str, ...]:
    """The ids of these commits and of all that is in their trees and in `trees`; no history, no submodules.

    Raises:
        GitError: One of them is not there.
    """
    git = _git(repository)
    roots = [git.run("rev-parse", "--verify", f"{c}^{{tree}}").line for c in commits]
    found: dict[str, None] = dict.fromkeys([*commits, *roots, *trees])
    for root in dict.fromkeys([*roots, *trees]):
        for field in git.run("ls-tree", "-r", "-t", "-z", "--full-tree", root).fields:
            mode, _, rest = field.partition(" ")
            if mode != GITLINK:
                found[rest.partition("\t")[0].rpartition(" ")[2]] = None
    return tuple(found)


def changed_object(repository: Repository, oids: Iterable[str]) -> str | None:
    """The first of the objects that is missing or whose bytes do not have its id, in words; None when all are sound."""
    wanted = tuple(oids)
    git = _git(repository)
    with contextlib.closing(_Batch(git)) as batch:
        for oid in wanted:
            if not batch.is_sound(oid):
                return f"git's object {oid} is missing, or its bytes are not those of its id"
    return None


class _Batch:
    """One `git cat-file --batch`."""

    def __init__(self, git: Git) -> None:
        self._process = subprocess.Popen(
            git.argv("cat-file", "--batch"),
            cwd=git.cwd,
            env=git.env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._stdin = cast("IO[bytes]", self._process.stdin)
        self._stdout = cast("IO[bytes]", self._process.stdout)

    def is_sound(self, oid: str) -> bool:
        with contextlib.suppress(BrokenPipeError):
            self._stdin.write(f"{oid}\n".encode())
            self._stdin.flush()
        words = self._stdout.readline().split()
        if len(words) != 3:  # noqa: PLR2004  # <oid> <type> <size>
            return False
        size = int(words[2])
        data = self._stdout.read(size + 1)[:-1]
        hashed = hashlib.sha1(usedforsecurity=False) if len(oid) == 40 else hashlib.sha256()  # noqa: PLR2004
        hashed.update(b"%b %d\0" % (words[1], size))
        hashed.update(data)
        return len(data) == size and hashed.hexdigest() == oid

    def close(self) -> None:
        for pipe in (self._stdin, self._stdout):
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
        self._process.wait()


class RecordedTrees:
    """The `Trees` port over the object store. What `overlay` makes is kept in `scratch`."""

    def __init__(self, repository: Repository, scratch: Path, oid_length: int) -> None:
        made = scratch / "objects"
        (made / "info").mkdir(parents=True, exist_ok=True)
        (made / "info" / "alternates").write_text(f"{repository.common_dir / 'objects'}\n")
        git = _git(repository).bound(variables={"GIT_OBJECT_DIRECTORY": made})
        self._objects = Objects(git, scratch, oid_length)
        self._full = Objects(git.bound(settings=FULL), scratch, oid_length)
        self._scratch = scratch

    def close(self) -> None:
        """End the process that reads; reading again starts another."""
        self._objects.blobs.close()

    def diff(self, before: TreeId, after: TreeId) -> Diff:
        """As `Trees.diff`."""
        return self._objects.diff(before, after)

    def read(self, tree: TreeId, path: str) -> bytes | None:
        """As `Trees.read`."""
        return self._objects.read(tree, path)

    def files(self, tree: TreeId) -> tuple[str, ...]:
        """As `Trees.files`."""
        return self._objects.files(tree)

    def overlay(self, tree: TreeId, source: TreeId, paths: Sequence[str]) -> TreeId:
        """As `Trees.overlay`."""
        return self._objects.overlay(tree, source, paths)

    @contextlib.contextmanager
    def checkout(self, tree: TreeId) -> Iterator[Path]:
        """As `Trees.checkout`, without what submodules hold: to be read, not to be run."""
        root = Path(tempfile.mkdtemp(dir=self._scratch, prefix="tree-"))
        try:
            fill(self._full, tree, root)
            yield root
        finally:
            remove_tree(root)


def pack_of(repository: Repository, oids: Iterable[str]) -> bytes:
    """A git pack of exactly these objects."""
    listed = "".join(f"{oid}\n" for oid in oids).encode()
    return _git(repository).run("pack-objects", "--stdout", "-q", stdin=listed).stdout


def make_repository(
    root: Path,
    pack: bytes,
    named: Mapping[str, str],
    *,
    head: str,
    ends: Sequence[CommitId],
) -> None:
    """A new repository at `root` with the objects of `pack` and the refs `named`, `head` checked out as its branch.

    `ends` are the commits whose parents are not in it.

    Raises:
        GitError: The pack is damaged, or a ref names what it does not hold.
    """
    root.mkdir(parents=True, exist_ok=True)
    form = "sha1" if len(ends[0]) == 40 else "sha256"  # noqa: PLR2004
    Git(root).run("init", "--quiet", f"--object-format={form}", "--template=", str(root))
    git = Git(root).bound(variables={"GIT_DIR": root / ".git", "GIT_WORK_TREE": root})
    (root / ".git" / "shallow").write_text("".join(f"{commit}\n" for commit in ends))
    git.run("index-pack", "--stdin", stdin=pack)
    changes = [refs.RefChange(name=name, new=oid, old=None) for name, oid in named.items()]
    refs.change(git, changes)
    git.run("symbolic-ref", "HEAD", head)


def fill_checkout(repository: Repository) -> None:
    """Write HEAD's files into a checkout that `make_repository` made; one that has any is left as it is.

    Of no checkout of a user's: one without files may have that staged.
    """
    if {path.name for path in repository.root.iterdir()} <= {".git", ".surefoot"}:
        _git(repository).run("read-tree", "--reset", "-u", "HEAD")


def refs_of_run(repository: Repository, run_id: RunId) -> dict[str, str]:
    """Object ids of a run's refs by their full names."""
    return refs.refs_of(_git(repository), refs.checked(run_id))


def _git(repository: Repository) -> Git:
    return repository.git().bound(settings=_AS_STORED)
