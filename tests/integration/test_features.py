"""Something that is missing, written by search (SPEC B1, promise 1)."""

import threading
from pathlib import Path

import pytest
from tests.integration.shop import Shop

from surefoot.testing.chat_server import ScriptedServer, Seen, Wire, speaks_for
from surefoot.testing.model import ScriptedModel

STUB = '''def shout(text, times=1):
    """Upper case, with exclamation marks.

    >>> shout("hey")
    'HEY!'
    >>> shout("oh no", 3)
    'OH NO!!!'
    """
    raise NotImplementedError
'''
TESTS = """from shop import shout


def test_there():
    assert callable(shout)
"""
WRITTEN = 'def shout(text, times=1):\n    return text.upper() + "!" * times\n'
HASTY = 'def shout(text, times=1):\n    return text.upper() + "!"\n'
SEARCH = ("--strategy", "repair")
AT_ONCE = 8
"""Questions of one batch, as hosted models get them."""


def script(shop: Shop, answer: str) -> str:
    return shop.scripted([{"pattern": "shout", "replies": [answer]}])


def test_a_function_without_a_body_is_written(tmp_path: Path) -> None:
    """The docstring's examples become a test that fails on the base, and the answer that passes it is taken."""
    shop = Shop(tmp_path, TESTS, code=STUB)
    run = shop.run("solve", "Implement `shout`", *SEARCH, "--model", script(shop, WRITTEN))
    assert run["status"] == "complete", run["reason"]
    assert 'assert shout("oh no", 3)' in shop.show(f"{run['commit']}:{new_test(run)}")


@pytest.mark.parametrize("body", ["raise NotImplementedError", "pass"])
def test_of_answers_that_do_the_same_the_one_that_most_extend_alike_is_taken(
    tmp_path: Path, body: str
) -> None:
    """The docstring shows sides in order only; of four answers the shortest holds for these alone."""
    code = 'def right(a, b, c):\n    """Whether three sides of a triangle meet at a right angle.\n\n    >>> right(3, 4, 5)\n    True\n    >>> right(1, 2, 3)\n    False\n    """\n    '
    tests = "import shop\n\n\ndef test_there():\n    assert shop.right\n"
    ways = [
        "    return a * a + b * b == c * c\n",
        "    x, y, z = sorted([a, b, c])\n    return x * x + y * y == z * z\n",
        "    small, middle, large = sorted((a, b, c))\n    return small**2 + middle**2 == large**2\n",
        "    return 2 * max(a, b, c) ** 2 == a * a + b * b + c * c\n",
    ]
    shop = Shop(tmp_path, tests, code=f"{code}{body}\n")
    rules = [{"pattern": "right", "replies": [f"def right(a, b, c):\n{way}" for way in ways]}]
    run = shop.run("solve", "Implement `right`", *SEARCH, "--model", shop.scripted(rules))
    assert run["status"] == "complete", run["reason"]
    assert ways[0] not in shop.show(f"{run['commit']}:shop.py")


def test_a_test_that_no_answer_passes_is_written_anew(tmp_path: Path) -> None:
    """Without an example the model writes the test, and may ask for what nobody wants; the next turn's is another one."""
    code = 'def twice(text):\n    """The text two times in a row, with a blank between."""\n    raise NotImplementedError\n'
    tests = "import shop\n\n\ndef test_there():\n    assert shop.twice\n"
    shop = Shop(tmp_path, tests, code=code)
    wrong, right = (
        f"```python\nfrom shop import twice\n\n\ndef test_twice():\n    assert len(twice('')) == {length}\n"
        for length in (0, 1)
    )
    answers = [f"    return {text}\n" for text in ('text + " " + text', '" ".join([text, text])')]
    rules = [
        {"purpose": "reproduce_test", "replies": [wrong, right]},
        {"pattern": "twice", "replies": ["def twice(text):\n" + answer for answer in answers]},
    ]
    run = shop.run("solve", "Implement `twice`", *SEARCH, "--model", shop.scripted(rules))
    assert run["status"] == "complete", run["reason"]
    assert run["turns"] == 2
    assert "assert len(twice('')) == 1" in shop.show(f"{run['commit']}:{new_test(run)}")


def test_an_answer_that_breaks_an_example_is_not_taken(tmp_path: Path) -> None:
    """One of two examples is not enough."""
    shop = Shop(tmp_path, TESTS, code=STUB)
    run = shop.run("solve", "Implement `shout`", *SEARCH, "--model", script(shop, HASTY))
    assert run["status"] == "blocked"


def test_a_parameter_that_is_not_read_is_not_taken(tmp_path: Path) -> None:
    """Though a call with it passes now: the constant that it was meant to replace still decides. The edit that replaces it is taken."""
    code = "def shout(text):\n    times = 1\n    return text.upper() + '!' * times\n"
    shop = Shop(
        tmp_path,
        "from shop import shout\n\n\ndef test_there():\n    assert shout('a') == 'A!'\n",
        code=code,
    )
    issue = (
        'Add a parameter `times` to `shout`, 1 by default\n\n    shout("oh", times=1) == "OH!"\n'
    )
    vain = code.replace("text):", "text, times=1):")
    run = shop.run("solve", issue, *SEARCH, "--model", script(shop, vain))
    assert run["status"] == "complete", run["reason"]
    assert shop.show(f"{run['commit']}:shop.py").startswith(
        "def shout(text, times=1):\n    return text"
    )


def test_a_new_parameter_is_added(tmp_path: Path) -> None:
    """A call that the function does not take yet is what the issue asks for."""
    code = 'def shout(text):\n    """Upper case."""\n    return text.upper()\n'
    shop = Shop(tmp_path, TESTS, code=code)
    issue = 'Add a parameter `times` to `shout`\n\n    shout("oh", times=2) == "OH!!"\n'
    answer = (
        'def shout(text, times=0):\n    """Upper case."""\n    return text.upper() + "!" * times\n'
    )
    run = shop.run("solve", issue, *SEARCH, "--model", script(shop, answer))
    assert run["status"] == "complete", run["reason"]


def new_test(run: dict[str, object]) -> str:
    files = run["files"]
    assert isinstance(files, list)
    return next(str(f) for f in files if "test" in str(f))


def test_a_search_ends_when_the_repository_is_locked(tmp_path: Path) -> None:
    """The lock holds within a turn of the search: nobody is asked after the questions that were on their way.

    `burn-max` would ask twice as many.
    """
    shop = Shop(tmp_path, TESTS, code=STUB)
    guard, locks = threading.Lock(), list[int]()
    # Whole, as a model writes it whose answer was begun for it.
    said = f"```python\n{STUB.replace('raise NotImplementedError', 'return text.upper()')}```"

    def locks_and_answers(seen: Seen) -> Wire:
        with guard:
            if not locks:
                locks.append(shop.surefoot("lock", "--why", "inspection").returncode)
        return speaks_for(ScriptedModel([], default=said))(seen)

    with ScriptedServer(locks_and_answers) as server:
        model = ("--model", "openai/m", "--solver-model", "openai/m", "--base-url", server.base_url)
        run = shop.run("solve", "Implement `shout`", *SEARCH, *model, "--profile", "burn-max")
        asked = len(server.seen)
        assert locks == [0]
        assert run["status"] == "paused"
        assert "inspection" in str(run["reason"])
        assert asked <= AT_ONCE
        assert "unlock" in shop.surefoot("resume").stderr
        assert "unlock" in shop.surefoot("replay").stderr
        shop.surefoot("unlock")
        assert shop.run("replay")["divergence"] is None
        shop.run("resume")
    replayed = shop.run("replay")
    assert replayed["divergence"] is None, replayed
