"""What one file defines, in the words of its own lines."""

from surefoot.context.grammars import language_of
from surefoot.context.symbols import symbols_of, unreadable


def outline(path: str, data: bytes) -> tuple[str, ...] | None:
    """Each definition's line with its number; None where no grammar reads such files, or not this one."""
    language = language_of(path)
    if language is None or unreadable(data) is not None:
        return None
    symbols = symbols_of(language, data)
    if symbols is None:
        return None
    lines = dict(zip(symbols.lines, symbols.texts, strict=True))
    return tuple(f"{number} {text}" for number, text in lines.items())
