"""What a person's screen is given: everything that would move the cursor, hide or turn around is shown as what it is."""

import io
from contextlib import redirect_stdout

import pytest

from surefoot.cli.screen import print_line, print_patch, print_text

PATCH = "+red = '\x1b[31m'\n+tab\there\n"


class Terminal(io.StringIO):
    """A stream that a person reads."""

    def isatty(self) -> bool:
        return True


def test_a_line_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever stands in a name."""
    print_line("tests/a\n**complete**: \x1b[2J\tok.py")
    assert capsys.readouterr().out == "tests/a **complete**: \\x1b[2J ok.py\n"


def test_text_keeps_its_lines(capsys: pytest.CaptureFixture[str]) -> None:
    """On either stream."""
    print_text("# a\x1b]0;pwned\x07\n\n\tb\r", err=True)
    assert capsys.readouterr().err == "# a\\x1b]0;pwned\\x07\n\n\tb\\r\n"


def test_a_patch_is_shown_to_a_person_and_given_to_a_program() -> None:
    """`git apply` gets every byte, also what looks like a colour."""
    with redirect_stdout(Terminal()) as shown:
        print_patch(PATCH)
    assert shown.getvalue() == "+red = '\\x1b[31m'\n+tab\there\n"
    with redirect_stdout(io.StringIO()) as piped:
        print_patch(PATCH)
    assert piped.getvalue() == PATCH
