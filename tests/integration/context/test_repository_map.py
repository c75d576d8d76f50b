"""A map of a repository stays within its budget, says what it left out, and is read once."""

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from surefoot.context import RepositoryMap
from surefoot.context import repository_map as module
from surefoot.context.repository_map import count_bytes
from surefoot.context.symbols import read_batch

CART = "class Cart:\n    def total(self):\n        return add(1, 2)\n"
SUM = "export function add(a, b) { return a + b; }\n"
TEXT = "`Cart.total` is wrong"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "web").mkdir(parents=True)
    (root / "cart.py").write_text(CART)
    (root / "web" / "sum.js").write_text(SUM)
    (root / "README.md").write_text("# Cart")
    return root


def files(root: Path) -> list[str]:
    return sorted(p.relative_to(root).as_posix() for p in root.rglob("*") if not p.is_dir())


def test_the_map_shows_definitions_by_file(root: Path, tmp_path: Path) -> None:
    """With their lines; the last line counts."""
    shown = RepositoryMap(tmp_path / "cache").render(root, files(root), TEXT, 200)
    assert shown == (
        "cart.py\n    1: class Cart:\n    2:     def total(self):\n"
        "web/sum.js\n    1: export function add(a, b) { return a + b; }\n"
        "(2 files with 3 definitions)\n"
    )


def test_the_budget_is_kept_at_every_size(root: Path, tmp_path: Path) -> None:
    """By any count of tokens; the best stay longest; with too little there is nothing."""
    mapped = RepositoryMap(tmp_path / "cache")
    for budget in range(60):
        shown = mapped.render(root, files(root), TEXT, budget)
        assert count_bytes(shown) <= budget
        assert shown == "" or shown.endswith("(2 files with 3 definitions)\n")
    few = mapped.render(root, files(root), TEXT, 26)
    assert "cart.py" in few
    assert "sum.js" not in few
    lines = mapped.render(root, files(root), TEXT, 3, count=lambda text: text.count("\n"))
    assert lines.count("\n") == 3


def test_bad_input_is_left_out_and_counted(root: Path, tmp_path: Path) -> None:
    """Links are never followed: what they lead to may be a secret."""
    secret = tmp_path / "secret.py"
    secret.write_text("def password(): pass\n")
    (root / "link.py").symlink_to(secret)
    (root / "folder").symlink_to(tmp_path)
    (root / "large.py").write_text("x = 1\n" * 200_000)
    (root / "binary.c").write_bytes(b"int a;\0")
    (root / "latin.rb").write_bytes(b"# \xe9\n")
    (root / "deep.js").write_text("(" * 500)
    os.mkfifo(root / "pipe.go")
    named = [*files(root), "folder/secret.py", "../secret.py", "gone.py"]
    shown = RepositoryMap(tmp_path / "cache").render(root, named, TEXT, 500)
    assert "password" not in shown
    told = "1 binary, 5 missing, or links, 1 not UTF-8, 1 too large, 1 too tangled"
    assert shown.endswith(f"(2 files with 3 definitions; left out: {told})\n")


def test_what_was_read_is_not_read_again(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By content: a file that moved is known, one that changed is not."""
    cache = tmp_path / "cache"
    first = RepositoryMap(cache).render(root, files(root), TEXT, 200)
    parsed: list[int] = []
    monkeypatch.setattr(
        module, "read_batch", lambda batch: parsed.append(len(batch)) or read_batch(batch)
    )
    (root / "cart.py").rename(root / "web" / "cart.py")
    second = RepositoryMap(cache).render(root, files(root), TEXT, 200)
    assert (parsed, second) == ([], first.replace("cart.py", "web/cart.py"))
    (root / "web" / "cart.py").write_text(CART.replace("total", "sum_of"))
    assert "sum_of" in RepositoryMap(cache).render(root, files(root), TEXT, 200)
    assert parsed == [1]


@pytest.mark.parametrize("broken", [b"not a database", b""])
def test_a_broken_cache_is_begun_anew(broken: bytes, root: Path, tmp_path: Path) -> None:
    """It is only a cache."""
    cache = tmp_path / "cache"
    first = RepositoryMap(cache).render(root, files(root), TEXT, 200)
    (path,) = cache.iterdir()
    path.write_bytes(broken)
    assert RepositoryMap(cache).render(root, files(root), TEXT, 200) == first
    with sqlite3.connect(path) as connection:
        connection.execute("update symbols set text = '[1]'")
    connection.close()
    assert RepositoryMap(cache).render(root, files(root), TEXT, 200) == first


def test_a_cache_that_cannot_be_written_costs_only_time(root: Path, tmp_path: Path) -> None:
    """A file is where its folder should be."""
    (tmp_path / "cache").write_text("")
    assert "class Cart" in RepositoryMap(tmp_path / "cache").render(root, files(root), TEXT, 200)


def test_several_processes_give_the_same_map(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are used for much unread text only."""
    alone = RepositoryMap(tmp_path / "one", workers=1).render(root, files(root), TEXT, 200)
    monkeypatch.setattr(module, "POOL_BYTES", 1)
    assert RepositoryMap(tmp_path / "two").render(root, files(root), TEXT, 200) == alone


def test_a_script_that_is_not_guarded_runs_once(root: Path, tmp_path: Path) -> None:
    """A program that uses the Python API need not know of processes: none begins with its script."""
    script = tmp_path / "script.py"
    script.write_text(
        "import sys; from pathlib import Path\n"
        "from surefoot.context import RepositoryMap, repository_map\n"
        "print('the script runs', flush=True)\n"
        "repository_map.POOL_BYTES = 1\n"
        "print(RepositoryMap(Path(sys.argv[2])).render(Path(sys.argv[1]), ['cart.py'], '', 300))"
    )
    ran = subprocess.run(
        [sys.executable, script, root, tmp_path / "cache"],
        check=True,
        capture_output=True,
        text=True,
    )
    assert ran.stdout.count("the script runs") == 1
    assert "class Cart" in ran.stdout


def test_the_map_is_the_same_in_every_process(root: Path, tmp_path: Path) -> None:
    """Whatever the seed of Python's hashes."""
    for number in range(12):
        (root / f"m{number}.py").write_text(
            f"from cart import Cart\ndef f{number}(): Cart().total()\n"
        )
    script = (
        "import sys; from pathlib import Path; from surefoot.context import RepositoryMap\n"
        "root = Path(sys.argv[1]); files = [p.relative_to(root).as_posix() for p in root.rglob('*.*')]\n"
        "print(RepositoryMap(Path(sys.argv[2])).render(root, files, sys.argv[3], 300))"
    )
    shown = {
        subprocess.run(
            [sys.executable, "-c", script, root, tmp_path / seed, TEXT],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(shown) == 1
