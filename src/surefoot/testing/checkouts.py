"""Kinds of checkouts that users have, made of a `ScratchRepository` with `src/app.py`, `src/util.py`, `run.sh` and a README."""

from typing import Final

from surefoot.testing.repository import ScratchRepository

ODD_NAMES: Final = (
    "new\nline.py",
    'quo"te.py',
    "-dash.py",
    "sp ace.py",
    "ünï.py",
    ":(top)x.py",
    "a*b.py",
    "\udcff.py",
)


def plain(user: ScratchRepository) -> ScratchRepository:
    """Clean."""
    return user


def dirty(user: ScratchRepository) -> ScratchRepository:
    """Changed, staged, staged and changed again, removed from the index, untracked, ignored."""
    user.write(
        {"src/app.py": "dirty\n", "src/util.py": "staged\n", "new.py": "n\n", "x.log": "i\n"}
    )
    user.git("add", "src/util.py")
    user.write({"src/util.py": "staged, then dirty\n"})
    user.git("rm", "-q", "--cached", "README.md")
    return user


def stashed(user: ScratchRepository) -> ScratchRepository:
    """A stash with untracked files, and dirty again."""
    user.write({"src/app.py": "stash me\n", "untracked.py": "me too\n"})
    user.git("stash", "push", "-q", "--include-untracked")
    return dirty(user)


def sparse(user: ScratchRepository) -> ScratchRepository:
    """A cone of `src`; `other` is in the commit only."""
    user.commit({"other/big.bin": "x" * 1000, "other/deep/y.py": "Y\n"})
    user.git("sparse-checkout", "set", "--cone", "src")
    return user


def linked(user: ScratchRepository) -> ScratchRepository:
    """A linked worktree, beside a dirty main one."""
    user.git("worktree", "add", "-q", "-b", "theirs", "../linked")
    (user.root / "src" / "app.py").write_text("dirty in the main checkout\n")
    return user.at(user.folder / "linked")


def odd_names(user: ScratchRepository) -> ScratchRepository:
    """Names with newlines, quotes, dashes, wildcards and bytes that are not UTF-8."""
    user.commit({f"odd/{name}": name.encode("utf-8", "surrogateescape") for name in ODD_NAMES})
    return user


def links_and_modes(user: ScratchRepository) -> ScratchRepository:
    """An executable, and links to a file, a folder and nothing."""
    (user.root / "run.sh").chmod(0o755)
    (user.root / "to-file").symlink_to("src/app.py")
    (user.root / "to-folder").symlink_to("src")
    (user.root / "to-nowhere").symlink_to("/does/not/exist")
    user.commit({})
    return user


def own_hooks(user: ScratchRepository) -> ScratchRepository:
    """Hooks of every kind that leave `hooks-ran` behind."""
    hooks = (
        "pre-commit commit-msg prepare-commit-msg post-commit post-checkout post-index-change "
        "reference-transaction post-merge pre-auto-gc fsmonitor-watchman"
    )
    for name in hooks.split():
        user.hook(name, f"echo {name} >> {user.folder}/hooks-ran")
    user.git("config", "core.fsmonitor", ".git/hooks/fsmonitor-watchman")
    (user.folder / "hooks-ran").unlink(missing_ok=True)
    return user


def broken_settings(user: ScratchRepository) -> ScratchRepository:
    """Settings that would break or bend a careless git command."""
    for setting in (
        "commit.gpgSign=true",
        "gpg.program=/bin/false",
        "user.useConfigOnly=true",
        "core.safecrlf=true",
        "core.fileMode=false",
        "core.symlinks=false",
        "core.ignoreCase=true",
        "submodule.recurse=true",
        "diff.noprefix=true",
        "diff.renames=copies",
        "status.showUntrackedFiles=no",
        "branch.autoSetupMerge=always",
        "add.ignoreErrors=true",
        "core.ignoreStat=true",
        "core.splitIndex=true",
        "i18n.commitEncoding=ISO-8859-1",
        "core.logAllRefUpdates=always",
        "worktree.guessRemote=true",
    ):
        user.git("config", *setting.split("=", 1))
    user.git("config", "--global", "--unset", "user.name")
    return user


def converted(user: ScratchRepository) -> ScratchRepository:
    """Files that adding again would change: line ends, `ident`, a filter."""
    user.commit({"dos.bat": "echo\r\nexit\r\n", "mixed.txt": "a\r\nb\n", "id.txt": "$Id: abc$\n"})
    user.commit({"raw.up": "committed before the filter\n"})
    user.git("config", "filter.upper.clean", "tr a-z A-Z")
    user.git("config", "filter.upper.smudge", "tr A-Z a-z")
    rules = "* text=auto\n*.bat text eol=crlf\nmixed.txt text\nid.txt ident\n*.up filter=upper\n"
    user.write({".gitattributes": rules})
    user.git("add", ".gitattributes")
    user.git("commit", "-q", "-m", "attributes come after the files")
    return user


def with_submodule(user: ScratchRepository) -> ScratchRepository:
    """A submodule with a submodule, dirty."""
    inner = ScratchRepository.create(user.folder / "inner", user.env["PATH"])
    inner.commit({"inner.py": "I\n"})
    library = ScratchRepository.create(user.folder / "library", user.env["PATH"])
    library.git("submodule", "add", "-q", str(inner.root), "nested")
    library.commit({"lib.py": "L\n"})
    user.git("submodule", "add", "-q", str(library.root), "vendor/lib")
    user.git("submodule", "update", "-q", "--init", "--recursive")
    user.commit({})
    user.write({"vendor/lib/lib.py": "dirty in the submodule\n"})
    return user


def with_nested_repository(user: ScratchRepository) -> ScratchRepository:
    """An untracked repository inside."""
    (user.root / "scratch").mkdir()
    user.at(user.root / "scratch").git("init", "-q")
    user.at(user.root / "scratch").commit({"z.py": "Z\n"})
    return user


def separate_git_folder(user: ScratchRepository) -> ScratchRepository:
    """The git folder lies elsewhere."""
    user.git("init", "-q", "--separate-git-dir", "../elsewhere.git")
    return user


def a_submodule_itself(user: ScratchRepository) -> ScratchRepository:
    """The checkout is a submodule of another."""
    outer = ScratchRepository.create(user.folder / "outer", user.env["PATH"])
    outer.git("submodule", "add", "-q", str(user.root), "inner")
    outer.commit({})
    return user.at(outer.root / "inner")


def bare_with_worktrees(user: ScratchRepository) -> ScratchRepository:
    """A bare repository whose worktree is the checkout."""
    user.git("clone", "-q", "--bare", ".", "../bare.git")
    user.at(user.folder / "bare.git").git("worktree", "add", "-q", "../work", "main")
    return user.at(user.folder / "work")


KINDS: Final = (
    plain,
    dirty,
    stashed,
    sparse,
    linked,
    odd_names,
    links_and_modes,
    own_hooks,
    broken_settings,
    converted,
    with_submodule,
    with_nested_repository,
    separate_git_folder,
    a_submodule_itself,
    bare_with_worktrees,
)
