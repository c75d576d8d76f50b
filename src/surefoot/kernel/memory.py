"""How a run that lacked memory ends: the one place that knows the words and the exit codes."""

import re
from typing import Final

_WORDS: Final = re.compile(
    r"MemoryError|out of memory|cannot allocate memory|memory allocation of \d+ bytes failed|std::bad_alloc|\bSIGKILL\b",
    re.IGNORECASE,
)
"""Of Python and Java; of node, Go and C; of the kernel's own errors; of Rust; of C++; of who was killed without a word."""
_KILLED: Final = 137
"""What a shell ends with when its command was killed (128 and SIGKILL), which is how a machine takes memory back."""


def lacks_memory(said: str, exit_code: int | None = None) -> bool:
    """Whether what a run said, or how it ended, tells of a lack of memory. A run that came to its end has had enough."""
    return exit_code == _KILLED or _WORDS.search(said) is not None
