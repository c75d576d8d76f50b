"""Research: what is written about the names in an issue, where, and with which digest."""

import hashlib
from pathlib import Path

import pytest

from surefoot.errors import UsageError
from surefoot.plan import in_packages, in_repository, named_by_user, site_packages

CODE = '"""Sums."""\n\n\ndef total(prices, discount=0):\n    """Sum of prices."""\n'


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_the_repository_is_read_for_named_files_and_names(tmp_path: Path) -> None:
    """What a file says of itself, how a name is defined, and the digest of what was read."""
    root = write(tmp_path, {"shop.py": CODE, "notes.md": "# Rules\n\nNo   discount.\n"})
    found = list(
        in_repository(
            "`total` in shop.py breaks notes.md",
            root,
            ["shop.py", "notes.md"],
            {"total": frozenset({"shop.py"})},
        )
    )
    assert [(s.where, s.fact) for s in found] == [
        ("shop.py", "Sums."),
        ("notes.md", "# Rules No discount."),
        ("shop.py", "line 4: def total(prices, discount=0): Sum of prices."),
    ]
    assert found[0].digest == hashlib.sha256(CODE.encode()).hexdigest()


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    """A repository cannot have something outside of it read into a plan."""
    outside = write(tmp_path / "home", {"secret.txt": "secret"}) / "secret.txt"
    root = write(tmp_path / "repo", {"a.py": ""})
    (root / "notes.md").symlink_to(outside)
    assert list(in_repository("see notes.md", root, ["notes.md"], {})) == []


def test_installed_packages_that_the_issue_names_are_read(tmp_path: Path) -> None:
    """Their summary, and the signature of what the issue names of them; no other package."""
    packages = tmp_path / "lib" / "python3.11" / "site-packages"
    for name in ("till-kit", "other"):
        info = f"{name.replace('-', '_')}-1.2.dist-info"
        module = f"{name.replace('-', '_')}/__init__.py"
        write(
            packages,
            {
                f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\nSummary: A {name}.\n",
                f"{info}/RECORD": f"{module},,\n",
                module: CODE,
            },
        )
    folders = site_packages(tmp_path / "bin" / "python")
    assert folders == (packages,)
    found = list(in_packages("use `total` of till_kit", folders))
    assert [(s.where, s.fact) for s in found] == [
        ("till-kit 1.2: METADATA", "A till-kit."),
        (
            "till-kit 1.2: till_kit/__init__.py",
            "line 4: def total(prices, discount=0): Sum of prices.",
        ),
    ]


def test_the_network_is_touched_only_when_allowed(tmp_path: Path) -> None:
    """A URL without the flag is an error that names it; with it the page is read, without its marks."""
    url = "https://example.invalid/rules"
    with pytest.raises(UsageError, match="--network"):
        list(named_by_user([url], None))
    asked: list[str] = []

    def fetch(address: str) -> bytes:
        asked.append(address)
        return b"<p>No <b>discount</b></p><script>x()</script>"

    file = write(tmp_path, {"a.txt": "Yes."}) / "a.txt"
    found = list(named_by_user([url, str(file)], fetch))
    assert [(s.where, s.fact) for s in found] == [(url, "No discount"), (str(file), "Yes.")]
    assert asked == [url]


def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    """It names the file."""
    with pytest.raises(UsageError, match=r"none\.txt"):
        list(named_by_user([str(tmp_path / "none.txt")], None))


@pytest.mark.parametrize("open_one", [b"<", b"<script ", b"<style>a</styl", b"<script>x</script"])
def test_a_page_that_leaves_everything_open_takes_no_time(open_one: bytes) -> None:
    """What grows by the square would take more than an hour for a page of this size."""
    page = b"<p>shown</p>" + open_one * (2_000_000 // len(open_one))
    (source,) = named_by_user(["https://example.invalid/"], lambda _: page)
    assert source.fact.startswith("shown")


def test_scripts_and_styles_of_a_page_are_not_read() -> None:
    """Nor its tags; what stands between and behind them is."""
    page = b"<p>one</p><SCRIPT>var x</script ><style>p{}</style>two <b>three</b>"
    (source,) = named_by_user(["https://example.invalid/"], lambda _: page)
    assert source.fact.split() == ["one", "two", "three"]
