"""Which files a text names."""

from time import thread_time

import pytest

from surefoot.decisions.complexity import COMPLEXITY, files_named
from surefoot.decisions.signature import fields_of

FILES = (
    "Makefile",
    "__init__.py",
    "a.py",
    "app/[[...slug]]/page.tsx",
    "app/[id]/page.tsx",
    "build",
    "conftest.py",
    "packages/@ui/b.ts",
    "page.tsx",
    "run",
    "src/$id.tsx",
    "src/C#/a~1=b.cs",
    "src/pkg/__init__.py",
    "src/pkg/build",
    "src/pkg/data.py",
    "src/routes/(app)/+page.svelte",
    "tests/conftest.py",
)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("see a.py.", ("a.py",)),
        ("see `a.py`, (src/pkg/data.py) and @a.py:12", ("a.py", "src/pkg/data.py")),
        ("[a](./a.py#L3), +++ b/src/pkg/data.py", ("a.py", "src/pkg/data.py")),
        ("tests/conftest.py::test_x", ("tests/conftest.py",)),
        ('File "/home/x/src/pkg/data.py", line 3', ("src/pkg/data.py",)),
        ("/home/x/a.py", ("a.py",)),
        ("packages/@ui/b.ts", ("packages/@ui/b.ts",)),
        ("run the build with the Makefile, or build/run it", ()),
        ("./run fails in src/pkg/build", ("run", "src/pkg/build")),
        ("`__init__.py`, a conftest.py and lib/python3/json/__init__.py", ()),
        ("src/pkg/__init__.py", ("src/pkg/__init__.py",)),
        ("a.py.orig, a.pyx, data.py, a.py/b, -a.py", ()),
        ("src/pkg", ()),
        ("app/[id]/page.tsx:3", ("app/[id]/page.tsx",)),
        ("[it](app/[id]/page.tsx#L3), (a.py)", ("a.py", "app/[id]/page.tsx")),
        ("[[a.py]] total(a.py) [1]a.py --cov=a.py #a.py", ("a.py",)),
        ("`app/[[...slug]]/page.tsx`.", ("app/[[...slug]]/page.tsx",)),
        ("(see src/routes/(app)/+page.svelte)", ("src/routes/(app)/+page.svelte",)),
        ("src/$id.tsx, src/C#/a~1=b.cs", ("src/$id.tsx", "src/C#/a~1=b.cs")),
        ("lib/[id]/page.tsx and lib/(app)/conftest.py", ()),
        ("--- a/conftest.py", ("conftest.py",)),
        ("+++ b/Makefile", ("Makefile",)),
        ("/work/repo/conftest.py", ("conftest.py",)),
        ("./conftest.py::test_x", ("conftest.py",)),
        ("", ()),
    ],
)
def test_a_text_names_the_longest_path_that_there_is(text: str, named: tuple[str, ...]) -> None:
    """Only what reads like a path; not a word that happens to be a file, nor a name that several files have."""
    assert files_named(text, FILES) == named


def test_many_files_cost_next_to_nothing_where_the_text_is_long() -> None:
    """It is read once, and not once for each file."""
    files = tuple(f"src/pkg{n % 50}/module_{n}.py" for n in range(5000))
    log = "".join(f'  File "/x/{files[n]}", line {n}\n    call()\n' for n in range(0, 5000, 7)) * 10
    assert files_named(log, files) == files[::7]
    assert _cost(log, files) < 20 * _cost(log, files[:10])


def test_a_token_of_many_slashes_is_no_trap() -> None:
    """Only as many of its parts are looked at as the deepest path has."""
    assert files_named("a/" * 100_000 + "src/pkg/data.py", FILES) == ("src/pkg/data.py",)


def test_the_model_is_told_what_the_named_files_are() -> None:
    """A unit of an audit is sized by the files of its findings, which no issue names."""
    [told] = [f.description for f in fields_of(COMPLEXITY.question) if f.name == "files_named"]
    assert "findings" in told


def _cost(text: str, files: tuple[str, ...]) -> float:
    def once() -> float:
        began = thread_time()
        files_named(text, files)
        return thread_time() - began

    return min(once() for _ in range(3))
