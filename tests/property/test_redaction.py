"""Redaction over random texts made of what it looks for."""

import random
import string

from hypothesis import example, given, settings
from hypothesis import strategies as st

from surefoot.ledger.scrub import scrub_blob
from surefoot.policy.redaction import Redactor, redact


def noise(length: int, seed: int) -> str:
    return "".join(random.Random(seed).choices(string.ascii_letters + string.digits, k=length))


def tokens(seed: int) -> tuple[str, ...]:
    pem = "-----{} PRIVATE" + " KEY-----"
    return (
        "gh" + f"p_{noise(36, seed)}",
        "AK" + "IA" + "".join(random.Random(seed).choices(string.ascii_uppercase + "234567", k=16)),
        f"sk-{noise(40, seed)}",
        f"eyJ{noise(20, seed)}.eyJ{noise(20, seed + 1)}.{noise(20, seed + 2)}",
        f"{pem.format('BEGIN')}\n{noise(64, seed)}\n{pem.format('END')}",
        f"{pem.format('BEGIN')}{noise(40, seed)}",
    )


TOKENS = tokens(1)
SCRAPS = (
    *("password", "token", "api_key", "Authorization", "Bearer ", "basic ", "--secret ", "xkey"),
    *(
        "=",
        ": ",
        ":=",
        ' = "',
        '"',
        "'",
        "`",
        "\\n",
        "\\",
        "-",
        "_",
        ".",
        ",",
        "/",
        "@",
        "://",
        "[",
        "]",
    ),
    *(
        "\n",
        " ",
        "a",
        "Z",
        "7",
        "é",
        "İ",
        "\udcff",
        "user",
        "[redacted:secret]",
        "[redacted:",
        "AAAA",
    ),
    noise(9, 9),
    noise(24, 10),
)
TEXTS = st.lists(st.sampled_from(TOKENS + SCRAPS) | st.text(max_size=4), max_size=14).map("".join)
VALUES = st.lists(
    st.sampled_from(["redacted", noise(24, 10), "=password", "secret] x"]) | TEXTS, max_size=3
)
KNOWN_TO_ALL = ("password", "postgres", "username")
"""Of the words that are no secrets, those long enough to be hidden."""
MANY = settings(max_examples=100, deadline=None, database=None)


@MANY
@given(text=TEXTS, values=VALUES)
def test_a_second_time_changes_nothing(text: str, values: list[str]) -> None:
    """Whatever the first time brought together."""
    for hide in (redact, Redactor(values)):
        once = hide(text)
        assert hide(once) == once


@MANY
@given(token=st.sampled_from(tokens(50)), before=TEXTS, after=TEXTS)
def test_a_token_never_survives(token: str, before: str, after: str) -> None:
    """Wherever it stands on its own, be its neighbours what they may."""
    assert token not in redact(f"{before} {token}\n{after}")


@MANY
@given(value=st.text(min_size=8, max_size=20).map(str.strip), before=TEXTS, after=TEXTS)
@example(value="PASSWORD", before="", after="")
def test_a_known_value_never_survives(value: str, before: str, after: str) -> None:
    """Unless it is too short to be hidden, known to all, or a piece of a marker."""
    hidden = Redactor([value])(f"{before}{value}{after}")
    is_left = len(value) < 8 or value.casefold() in KNOWN_TO_ALL or value in "[redacted:"
    assert is_left or value not in hidden


@MANY
@given(lines=st.lists(TEXTS, min_size=1, max_size=4), values=VALUES)
def test_what_one_text_hides_many_hide(lines: list[str], values: list[str]) -> None:
    """The ledger asks about many strings at once and trusts a no."""
    for hide in (redact, Redactor(values)):
        if any(hide(line) != line for line in lines):
            together = "\n".join(lines)
            assert hide(together) != together


@MANY
@given(data=st.binary(max_size=60) | TEXTS.map(lambda text: text.encode("utf-8", "replace")))
def test_a_blob_is_cleaned_once(data: bytes) -> None:
    """Stored bytes are stored again as they are, or a digest would not be stable."""
    once = scrub_blob(data, redact)
    assert scrub_blob(once, redact) == once
