"""How many tokens a text has at most, for models whose tokenizer is not at hand.

Byte-pair tokenizers cut a text into words, digits, signs and blanks first, and those that are rare into pieces. The figures
below lie above what Qwen's tokenizer makes of source code, prose and blobs; a test compares them where the model is there.
"""

import re
from typing import Final

_PIECES: Final = re.compile(
    r"(?P<word>[A-Za-z]+)|(?P<blank>[ \t\r\n]+)|(?P<wide>[\u1100-\u11ff\u3040-\u9fff\uac00-\ud7ff]+)"
    r"|(?P<signs>[!-/:-@\[-`{-~]+)|(?P<ascii>[\x00-\x7f])|(?P<other>[^\x00-\x7f])"
)
_BLANKS: Final = re.compile(r"(.)\1*", re.DOTALL)
_LONGEST_WORD: Final = 16
"""A longer run of letters is no word but a blob, which falls into small pieces."""
_BEYOND_BMP: Final = "\U00010000"


def estimate_tokens(text: str) -> int:
    """An upper estimate; about 1.5 times the truth for source code."""
    return sum(_piece(match.lastgroup or "", match.group()) for match in _PIECES.finditer(text))


def _piece(kind: str, piece: str) -> int:
    if kind == "word":
        return _word(piece)
    if kind == "blank":
        # A single blank belongs to the word after it.
        return 0 if piece == " " else len(_BLANKS.findall(piece)) + len(piece) // 16
    if kind == "wide":
        return len(piece)
    if kind == "signs":
        return -(-len(piece) * 3 // 4)
    if kind == "ascii":
        return 1
    return 4 if piece >= _BEYOND_BMP else 3


def _word(word: str) -> int:
    if len(word) > _LONGEST_WORD:
        return -(-len(word) * 7 // 10)
    if word[1:].islower():
        return 1 + max(0, len(word) - 2) // 4
    return -(-len(word) // 2)
