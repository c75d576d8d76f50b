"""Which tools every executor has."""

from collections.abc import Callable, Sequence

from surefoot.kernel.ports import Processes
from surefoot.toolbox.box import Box
from surefoot.toolbox.file_edit import FileEditor
from surefoot.toolbox.file_read import FileReader, Outliner
from surefoot.toolbox.ripgrep import Ripgrep, find_ripgrep
from surefoot.toolbox.shell import Shell, Shelter
from surefoot.toolbox.tool import Tool


def default_toolbox(
    processes: Processes,
    shelter: Shelter,
    *,
    path: str,
    outliner: Outliner,
    redact: Callable[[str], str],
    more: Sequence[Tool] = (),
) -> Box:
    """The four tools that need nothing installed but `rg`, then `more`; `redact` hides secrets in what they say.

    `path` is the PATH on which `rg` is looked for when it is not installed beside Surefoot.

    Raises:
        UsageError: As `Box`.
    """
    program = find_ripgrep(path)
    own = (
        FileReader(outliner, redact),
        Ripgrep(processes, program=program, redact=redact),
        FileEditor(redact),
        Shell(processes, shelter, redact),
    )
    return Box((*own, *more), redact=redact)
