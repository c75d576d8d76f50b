"""Files are written whole, into nothing that somebody else has put in their way."""

from pathlib import Path

import pytest

from surefoot.plain_files import write_whole


def modes(folder: Path) -> dict[str, int]:
    """The permissions of what lies there, by name."""
    return {path.name: path.lstat().st_mode & 0o777 for path in folder.iterdir()}


def test_no_link_beside_a_file_is_followed(tmp_path: Path) -> None:
    """A repository may bring one of any name; what it leads to stays as it was, and so does a folder."""
    outside, root = tmp_path / "profile", tmp_path / "root"
    outside.write_text("theirs")
    root.mkdir()
    (root / ".surefoot.toml.new").symlink_to(outside)
    (root / ".baseline.new").mkdir()
    for name in ("surefoot.toml", "baseline"):
        write_whole(root / name, b"ours")
        assert not (root / name).is_symlink()
        assert (root / name).read_bytes() == b"ours"
    assert outside.read_text() == "theirs"
    assert len(list(root.iterdir())) == 4


def test_a_file_keeps_its_mode(tmp_path: Path) -> None:
    """What nobody else could read stays so; a new file is as any other."""
    secret, fresh, other = (tmp_path / name for name in ("secret", "fresh", "other"))
    secret.write_text("before")
    secret.chmod(0o600)
    other.write_text("")
    write_whole(secret, b"after")
    write_whole(fresh, b"new")
    assert secret.read_bytes() == b"after"
    assert modes(tmp_path) == {"secret": 0o600, "fresh": modes(tmp_path)["other"], "other": 0o644}


def test_a_link_is_written_through(tmp_path: Path) -> None:
    """The user's own, which is never replaced by a file."""
    (tmp_path / "at").symlink_to("target")
    write_whole(tmp_path / "at", b"whole")
    assert (tmp_path / "at").is_symlink()
    assert (tmp_path / "target").read_bytes() == b"whole"


def test_what_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    """No half of a file, and what was there as it was."""
    at = tmp_path / "file"
    at.write_bytes(b"before")
    with pytest.raises(TypeError):
        write_whole(at, "no bytes")  # type: ignore[arg-type]
    assert at.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [at]
