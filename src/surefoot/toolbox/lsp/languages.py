"""Which language server understands which file, and how it is installed."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from surefoot.errors import UsageError

_PYTHON: Final = (
    # Jedi looks for references in 30 files only, which would make a rename that misses the others look whole.
    "import jedi.inference.references as limits\n"
    "limits._PARSED_FILE_LIMIT = limits._OPENED_FILE_LIMIT = 100_000\n"
    # A fence without namespaces of its own forbids to set times, with which the cache would begin to use this file.
    "import pathlib, jedi\n"
    "lock = pathlib.Path(jedi.settings.cache_directory, 'PARSO-CACHE-LOCK')\n"
    "lock.parent.mkdir(parents=True, exist_ok=True)\n"
    "lock.write_bytes(b'')\n"
    "from jedi_language_server.cli import cli\n"
    "cli()\n"
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Language:
    """One language server; the key of the session that it is at work in, so that two of one name are two."""

    server: str
    ids: Mapping[str, str]
    """The protocol's name of the language by the suffix of a file."""
    argv: tuple[str, ...]
    """Its program by name, and the arguments that make it speak over standard input and output."""
    install: str
    """How a person gets it."""
    module: str = ""
    """The Python module that it is; it runs in the interpreter that runs Surefoot."""
    folders: Mapping[str, str] = field(default_factory=dict)
    """What it reads of the user's home, by the variable that names the place."""
    companions: tuple[str, ...] = ()
    """Programs that it calls."""
    reads_ahead: bool = True
    """It reads the project after it was shown a file, and until then its answers lack something."""
    is_exact: bool = False
    """A rename writes the new name in the place of the old one and nothing else."""
    note: str = ""
    """What its diagnostics leave out."""


LANGUAGES: Final = (
    Language(
        server="jedi-language-server",
        ids={".py": "python", ".pyi": "python"},
        argv=("-I", "-B", "-X", "utf8", "-c", _PYTHON),
        install="run `pip install 'surefoot[lsp]'` in the environment of Surefoot",
        module="jedi_language_server",
        reads_ahead=False,
        is_exact=True,
        note="it looks at the syntax only; run ruff, mypy or the tests for more",
    ),
    Language(
        server="typescript-language-server",
        ids={
            **dict.fromkeys((".js", ".mjs", ".cjs"), "javascript"),
            **dict.fromkeys((".ts", ".mts", ".cts"), "typescript"),
            ".jsx": "javascriptreact",
            ".tsx": "typescriptreact",
        },
        argv=("typescript-language-server", "--stdio"),
        install="run `npm install -g typescript@5 typescript-language-server`",
    ),
    Language(
        server="gopls",
        ids={".go": "go"},
        argv=("gopls",),
        install="run `go install golang.org/x/tools/gopls@latest` and put its folder on the PATH",
        folders={"GOMODCACHE": "go/pkg/mod"},
        companions=("go",),
    ),
    Language(
        server="rust-analyzer",
        ids={".rs": "rust"},
        argv=("rust-analyzer",),
        install="run `rustup component add rust-analyzer`",
        folders={"RUSTUP_HOME": ".rustup"},
        companions=("cargo", "rustc"),
    ),
    Language(
        server="clangd",
        ids={
            **dict.fromkeys((".c", ".h"), "c"),
            **dict.fromkeys((".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx"), "cpp"),
        },
        argv=("clangd",),
        install="install the package `clangd` of your system",
    ),
    Language(
        server="jdtls",
        ids={".java": "java"},
        argv=("jdtls",),
        install="install Eclipse JDT LS and put `jdtls` on the PATH",
        companions=("java", "python3"),
    ),
    Language(
        server="ruby-lsp",
        ids={".rb": "ruby"},
        argv=("ruby-lsp",),
        install="run `gem install ruby-lsp`",
        companions=("ruby", "bundle"),
    ),
    Language(
        server="lua-language-server",
        ids={".lua": "lua"},
        argv=("lua-language-server",),
        install="install lua-language-server and put it on the PATH",
    ),
    Language(
        server="zls",
        ids={".zig": "zig"},
        argv=("zls",),
        install="install zls and put it on the PATH",
        companions=("zig",),
    ),
)


def own_language(argv: tuple[str, ...], ids: Mapping[str, str]) -> Language:
    """The server of the user's settings that `argv` starts; `ids` as in `Language`."""
    return Language(
        server=shlex.join(argv),
        ids=ids,
        argv=argv,
        install=f"install {argv[0]!r}, or mend `tools.lsp` in surefoot.toml",
    )


def own_languages(
    named: Iterable[tuple[tuple[str, ...], Mapping[str, str]]],
) -> tuple[Language, ...]:
    """As `own_language`, one for each command, so that a server is told of all files that it is there for."""
    found: dict[tuple[str, ...], dict[str, str]] = {}
    for argv, ids in named:
        found.setdefault(argv, {}).update(ids)
    return tuple(own_language(argv, ids) for argv, ids in found.items())


def language_of(path: str, own: Sequence[Language] = ()) -> Language:
    """Whose file this is, by its suffix; `own` languages, of the user's, go before those known here.

    Raises:
        UsageError: Nobody's.
    """
    suffix = Path(path).suffix.lower()
    languages = (*own, *LANGUAGES)
    for language in languages:
        if suffix in language.ids:
            return language
    known = ", ".join(sorted({suffix for each in languages for suffix in each.ids}))
    raise UsageError(f"no language server is known for {path!r}; there are for {known}")
