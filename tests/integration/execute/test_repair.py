"""`solve` with the strategy `repair` on small repositories, as a user runs it, on a model that answers from a file."""

import json
import venv
from pathlib import Path
from typing import Any

import pytest
from tests.integration.shop import BREAKS, CODE, DISCOUNT, ONLY_THE_TEST, RIGHT, TESTS, Shop

from surefoot.execute.repair.limits import RepairLimits


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path, TESTS + DISCOUNT)


def test_what_no_plain_edit_mends_the_model_does(shop: Shop) -> None:
    run = shop.solve([{"pattern": "Function `total`", "reply": RIGHT}])
    assert run["status"] == "complete"
    assert run["files"] == ["shop.py"]
    fixed = shop.show(f"{run['commit']}:shop.py")
    assert "(100 - discount)" in fixed
    assert '"""Sum of `prices` less' in fixed


def test_what_nobody_imports_is_imported(tmp_path: Path) -> None:
    """No edit of the function mends it, and a small model gives back what it was shown."""
    diagonal = "def diagonal(width, height):\n    return math.hypot(width, height)\n"
    tests = "from shop import diagonal\n\n\ndef test_diagonal():\n    assert diagonal(3, 4) == 5\n"
    shop = Shop(tmp_path, tests, code=f'"""Plane geometry."""\n\n\n{diagonal}')
    model = shop.scripted([{"pattern": "diagonal", "reply": diagonal}])
    run = shop.run("solve", "`diagonal` raises a NameError", "--model", model)
    assert run["status"] == "complete", run
    mended = f'"""Plane geometry."""\n\nimport math\n\n\n{diagonal}'
    assert shop.show(f"{run['commit']}:shop.py") == mended


@pytest.mark.parametrize(
    "asked",
    [["`shop` cannot be imported"], ["--test", "test_shop.py::test_longest"]],
    ids=["issue", "test"],
)
def test_a_file_of_tests_that_could_not_be_read_is_a_failing_test(
    tmp_path: Path, asked: list[str]
) -> None:
    """An annotation without its import keeps all tests of the file from being collected; mended, they stand for it."""
    longest = "def longest(sides: List[int]) -> int:\n    return max(sides)\n"
    tests = "from shop import longest\n\n\ndef test_longest():\n    assert longest([3, 4]) == 4\n"
    shop = Shop(tmp_path, tests, code=longest)
    model = shop.scripted([{"pattern": "longest", "reply": longest}])
    run = shop.run("solve", *asked, "--model", model)
    assert run["status"] == "complete", run
    assert shop.show(f"{run['commit']}:shop.py") == f"from typing import List\n\n\n{longest}"
    assert shop.run("replay")["divergence"] is None


ITEM = """class Item:
    def __init__(self, name, code):
        self._name = name
        self._code = code

    @property
    def label(self):
        return self._name

    @label.setter
    def label(self, value):
        self._name = value
"""
LABEL = """    @property
    def label(self):
        return f"{self._name} ({self._code})"
"""


def test_an_answer_for_a_getter_leaves_its_setter(tmp_path: Path) -> None:
    """Both have one name; what is mended is the one that was shown."""
    checks = [("tea", 3), ("cocoa", 12)]
    tests = "from shop import Item\n" + "".join(
        f"\n\ndef test_{name}():\n    assert Item({name!r}, {code}).label == '{name} ({code})'\n"
        for name, code in checks
    )
    shop = Shop(tmp_path, tests, code=ITEM)
    model = shop.scripted([{"pattern": "Function `label`", "reply": LABEL}])
    run = shop.run("solve", "--test", "test_shop.py::test_tea", "--model", model)
    assert run["status"] == "complete", run
    before, _, setter = ITEM.partition(
        "    @property\n    def label(self):\n        return self._name\n"
    )
    assert shop.show(f"{run['commit']}:shop.py") == before + LABEL + setter


SHARES = """class Plain:
    def __init__(self, value):
        self.value = value

    def shown(self):
        return str(self.value)


class Percent:
    def __init__(self, value):
        self.value = value

    def shown(self):
        return str(self.value)
"""


def test_an_answer_for_one_of_two_equal_methods_is_put_in_its_class(tmp_path: Path) -> None:
    """Both run in the failing tests, and have the same text; what was asked about is mended."""
    tests = "from shop import Percent, Plain\n" + "".join(
        f"\n\ndef test_{value}():\n    assert Plain({value}).shown() == '{value}'\n"
        f"    assert Percent({value}).shown() == '{value} %'\n"
        for value in (5, 70)
    )
    shop = Shop(tmp_path, tests, code=SHARES)
    answer = '    return f"{self.value} %"\n'
    model = shop.scripted([{"pattern": "Function `shown`", "reply": answer}])
    run = shop.run("solve", "--test", "test_shop.py::test_5", "--model", model)
    assert (run["status"], run["turns"]) == ("complete", 1), run
    plain, _, percent = SHARES.partition("class Percent")
    mended = percent.replace("str(self.value)", 'f"{self.value} %"')
    assert shop.show(f"{run['commit']}:shop.py") == f"{plain}class Percent{mended}"


def test_a_failed_answer_is_told_how_it_fails(shop: Shop) -> None:
    told = r"(?s)This answer was wrong:.*rebate.*It fails:.*NameError"
    run = shop.solve(
        [
            {"pattern": told, "reply": RIGHT},
            {"pattern": "Function `total`", "reply": BREAKS},
        ]
    )
    assert "one answer alone" in shop.explained(run), run
    assert run["status"] == "blocked"


def test_an_answer_made_for_the_tests_is_not_taken(shop: Shop) -> None:
    run = shop.solve([{"pattern": "Function `total`", "reply": ONLY_THE_TEST}])
    assert run["status"] == "blocked"
    assert run["commit"] is None


def test_what_the_review_would_refuse_is_not_taken(shop: Shop) -> None:
    """An answer that hides every failure passes all tests; the search sets it aside, and no turn is spent on a veto."""
    price = "round(sum(prices) * (100 - discount) / 100, 2)"
    hides = f"def total(prices, discount=0):\n    try:\n        return {price}\n    except Exception:\n        return 0\n"
    run = shop.solve([{"pattern": "Function `total`", "reply": hides}])
    assert run["status"] == "blocked"
    ledger = shop.root / ".surefoot" / "runs" / str(run["run_id"]) / "events.jsonl"
    assert "review.given" not in ledger.read_text()
    assert "the review would refuse it: shop.py: catches every failure" in ledger.read_text()


def test_an_issue_without_a_failing_test_gets_one(tmp_path: Path) -> None:
    """The new test comes from the issue's example, fails on the base and is part of the work."""
    shop = Shop(tmp_path, TESTS)
    run = shop.solve([{"pattern": "Function `total`", "reply": RIGHT}])
    assert run["status"] == "complete"
    files = run["files"]
    assert isinstance(files, list)
    (added,) = [f for f in files if f != "shop.py"]
    assert "total([10, 20], discount=10)" in shop.show(f"{run['commit']}:{added}")
    proofs = run["evidence"]
    assert isinstance(proofs, list)
    assert "new-tests" in {proof["kind"] for proof in proofs}


def test_a_project_without_pytest_gets_a_test_case(tmp_path: Path) -> None:
    """The new test is a method where the project's tests are: unittest finds no plain functions."""
    case = "import unittest\nfrom shop import double\n\n\nclass DoubleTest(unittest.TestCase):\n"
    there = f"{case}    def test_zero(self):\n        self.assertEqual(double(0), 0)\n"
    code = "def double(value):\n    return value * 3\n"
    shop = Shop(tmp_path, there, code=code, beside={".gitignore": ".venv\n"})
    venv.create(shop.root / ".venv", with_pip=False, symlinks=True)
    run = shop.solve([], issue="`double(2)` returns 6, should return 4")
    told = [str(e["text"]) for e in shop.events(run) if e.get("topic") == "reproduced"]
    assert "self.assertEqual(double(2), 4)" in told[0], run
    assert "::AsReported::test_double_as_reported" in told[0]


BIG = "def big(n):\n    return n > 10\n"
STEPS = "".join(f"def step_{n}():\n    pass\n\n\n" for n in range(6))
AFTER_STEPS = BIG.replace("    ", "".join(f"    step_{n}()\n" for n in range(6)) + "    ")


@pytest.mark.parametrize("code", [BIG, STEPS + AFTER_STEPS], ids=["alone", "beside others"])
def test_with_another_test_of_the_model_the_search_begins_anew(tmp_path: Path, code: str) -> None:
    """An edit that did not pass the first turn's test, which nothing passes, is tried again, and of the same suspects."""
    there = "import shop\n\n\ndef test_there():\n    assert shop.big(20)\n"
    shop = Shop(tmp_path, there, code=code, max_candidates=1_000)
    drafts = [
        f"```python\nfrom shop import big\n\n\ndef test_big():\n    assert {claim}\n"
        for claim in ("big(10) and not big(10)", "big(10) is True")
    ]
    rules = [{"purpose": "reproduce_test", "replies": drafts}]
    run = shop.solve(rules, issue="`big` does not know that 10 is a big one")
    assert run["status"] == "complete", run["reason"]
    assert run["turns"] == 2
    assert ">= 10" in shop.show(f"{run['commit']}:shop.py")


def test_with_another_test_of_the_model_what_was_refused_stays_so(tmp_path: Path) -> None:
    """A judge is not content with the first turn's change, which passed its test: the second turn has another change."""
    there = "import shop\n\n\ndef test_there():\n    assert shop.big(20)\n"
    shop = Shop(tmp_path, there, code=BIG, max_candidates=1_000)
    drafts = [
        f"```python\nfrom shop import big\n\n\ndef test_big():\n    assert {claim}\n"
        for claim in ("big(10) is True", "big(10)")
    ]
    word = {"explanation": "seen", "quote": "", "missing": "more", "status": "PARTIAL"}
    model = shop.scripted(
        [
            {"purpose": "reproduce_test", "replies": drafts},
            {"purpose": "requirement_checker", "reply": json.dumps({**word, "confidence": 1.0})},
        ]
    )
    issue = "`big` does not know that 10 is a big one"
    run = shop.run("solve", issue, "--model", model, "--solver-model", model)
    assert run["status"] == "blocked"
    taken = [e["candidate"] for e in shop.events(run) if e.get("message") == "chosen"]
    assert len(taken) > 1
    assert len(set(taken)) == len(taken)


LONG_WAY = """def total(prices, discount=0):
    if not prices:
        return 0
    whole = 0
    for price in prices:
        whole += price
    rate = discount / 100
    off = whole * rate
    left = whole - off
    cents = round(left * 100)
    return cents / 100
"""


def test_a_few_answers_of_many_are_no_surer_in_the_second_turn(tmp_path: Path) -> None:
    """Three or four of 28 pass; what fails is not tried again in the next turn, and speaks against them as before."""
    shop = Shop(tmp_path, TESTS + DISCOUNT)
    wrong = "def total(prices, discount=0):\n    return 0.5\n"
    again = {"pattern": "(?s)This answer was wrong", "reply": wrong}
    rules = [again, {"pattern": "Function `total`", "replies": [LONG_WAY, *[wrong] * 6]}]
    run = shop.solve(rules, context_tokens=8_192)
    assert run["status"] == "blocked", run
    told = [e["text"] for e in shop.events(run) if e.get("topic") == "selection"]
    assert len(told) > 1
    assert all(str(text).startswith("not sure") for text in told), told


@pytest.mark.parametrize(
    ("wrong", "guessed", "told"),
    [
        (4, False, "taken: 3 samples"),
        (9, False, "not sure: 2 of 3 voices, and no single edit does the same: 2 samples"),
        (4, True, "not sure: 0.60 is needed: 3 samples"),
    ],
    ids=["known test", "two", "test of the model"],
)
def test_three_answers_that_wrote_it_anew_are_enough_for_a_known_test_alone(
    tmp_path: Path, *, wrong: int, guessed: bool, told: str
) -> None:
    """Two are not. What a model makes of an issue is in its answers and in its test alike."""
    code = CODE.replace("rounded to cents", "rounded to cents as people do")
    shop = Shop(tmp_path, TESTS if guessed else TESTS + DISCOUNT, code=code)
    draft = "```python\nfrom shop import total\n\n\ndef test_off():\n    assert total([10, 20], 10) == 27.0\n"
    misses = "def total(prices, discount=0):\n    return 0.5\n"
    rules = [
        {"purpose": "reproduce_test", "reply": draft},
        {"pattern": "Write the function", "replies": [LONG_WAY, *[misses] * wrong]},
        {"pattern": "total", "reply": misses},
    ]
    run = shop.solve(
        rules,
        issue="`total` forgets a discount of 10: 10 and 20 are 27.0 then",
        context_tokens=8_192,
    )
    taken = told.startswith("taken")
    assert run["status"] == ("complete" if taken else "blocked"), run["reason"]
    chosen = [str(e["text"]) for e in shop.events(run) if e.get("topic") == "selection"]
    assert any(told in text for text in chosen), chosen


ALONE = """import os

COLLECTED_IN = os.getpid()


def test_alone():
    assert os.getpid() == COLLECTED_IN
"""


def test_a_test_that_cannot_pass_in_the_worker_holds_nothing_up(tmp_path: Path) -> None:
    """It passes where tests are run one process after another, and the worker forks: only the fresh run can ask it."""
    shop = Shop(tmp_path, ALONE + TESTS + DISCOUNT)
    run = shop.solve([{"pattern": "Function `total`", "reply": RIGHT}])
    assert run["status"] == "complete"


SECRETIVE = """import pytest


@pytest.mark.parametrize("url", ["http://ann:hunter2secret(at)host/", "http://ann:other4secret(at)host/"])
def test_urls(url):
    assert url.endswith("/")


""".replace("(at)", "@")  # an audit of this file knows a password where it stands


def test_an_id_with_a_secret_is_one_test_throughout(tmp_path: Path) -> None:
    """Hidden wherever it is told, it still passes before and after, and is run again alone, also by another process."""
    shop = Shop(tmp_path, SECRETIVE + TESTS + DISCOUNT)
    run = shop.solve([{"pattern": "Function `total`", "reply": RIGHT}])
    assert run["status"] == "complete"
    told = next(e for e in run["evidence"] if e["kind"] == "base-tests")
    assert told["after"].startswith("6 passed, 0 failed of 6")
    ledger = shop.root / ".surefoot" / "runs" / str(run["run_id"]) / "events.jsonl"
    assert "secret@host" not in ledger.read_text()
    assert shop.surefoot("verify", str(run["run_id"])).returncode == 0


TWO_FAULTS = '''"""Bookings."""


def middle(first, last):
    """Middle of two days, or -1 where the last is before the first."""
    if last <= first:
        return -1
    return (first - last) // 2
'''
MIDDLES = """from shop import middle


def test_middle():
    assert middle(1, 3) == 2
    assert middle(0, 10) == 5
    assert middle(4, 4) == 4


def test_nothing_between():
    assert middle(5, 1) == -1
"""


def solved_when_heard(shop: Shop, issue: str, filled: dict[str, str]) -> dict[str, object]:
    """The run that is complete with a small model's line; without a word of the model it is not sure."""
    unsure = shop.solve([], issue=issue)
    assert unsure["status"] == "blocked"
    assert "1 of 2 voices, and no single edit does the same" in shop.explained(unsure)
    run = shop.solve([filled], issue=issue, context_tokens=8_192)
    assert run["status"] == "complete", run["reason"]
    return run


def test_an_edit_that_mends_a_part_is_followed_before_a_model_is_asked_for_long(
    tmp_path: Path,
) -> None:
    """Neither fault alone makes the test pass; an edit that mends one of them is seen to, and the other one is tried on it.

    Both at once are taken when an answer agrees.
    """
    shop = Shop(tmp_path, MIDDLES, code=TWO_FAULTS, max_candidates=1_000)
    filled = {
        "pattern": r"(?s)____.*\(first \+ last\) // 2",
        "reply": "```python\nif last < first:\n```",
    }
    run = solved_when_heard(shop, "middle(1, 3) gives -1, not 2", filled)
    fixed = shop.show(f"{run['commit']}:shop.py")
    assert "if last < first:" in fixed
    assert "(first + last) // 2" in fixed
    assert run["model_calls"] < RepairLimits().before_deeper


HIDDEN_FAULTS = '''"""Queues."""


def last_in(queue):
    """What came in last, or None."""
    if queue:
        return None
    return queue[0]
'''
QUEUES = """from shop import last_in


def test_last_in():
    assert last_in([1, 2, 3]) == 3
    assert last_in([4, 5]) == 5
"""


def test_two_edits_that_mend_nothing_alone_are_tried_at_once(tmp_path: Path) -> None:
    """They are taken when a small model, shown one of them, fills in the other by itself; else the run is not sure."""
    shop = Shop(tmp_path, QUEUES, code=HIDDEN_FAULTS, max_candidates=1_000)
    filled = {
        "pattern": r"(?s)if not \(queue\):.*____",
        "reply": "```python\nreturn queue[-1]\n```",
    }
    run = solved_when_heard(shop, "last_in([1, 2, 3]) gives None, not 3", filled)
    fixed = shop.show(f"{run['commit']}:shop.py")
    assert "if not (queue):" in fixed
    assert "return queue[-1]" in fixed


TAXED = '''"""Prices with tax."""

from rates import rate


def price(cents, kind):
    """`cents` and the tax on them, in whole cents."""
    return cents - cents * rate(kind) // 100
'''
RATES = '''"""Rates of tax."""


def rate(kind):
    """Per cent that a kind of goods is taxed with."""
    return 7 if kind != "food" else 19
'''
TAXES = """from shop import price


def test_price():
    assert price(1000, "food") == 1070
    assert price(200, "tools") == 238
"""


def test_faults_in_two_functions_are_mended_at_once(tmp_path: Path) -> None:
    """No answer about one of them alone can pass: each is tried beside the edit of the other, and both have to be heard."""
    shop = Shop(tmp_path, TAXES, code=TAXED, max_candidates=2_500, beside={"rates.py": RATES})
    priced = "    return cents + cents * rate(kind) // 100\n"
    rated = '    return 7 if kind == "food" else 19\n'
    run = shop.solve(
        [
            {"pattern": r"(?s)Function `price`(?!.*____)", "reply": priced},
            {"pattern": r"(?s)Function `rate`(?!.*____)", "reply": rated},
            {"reply": "I do not know."},
        ],
        issue="price(1000, 'food') gives 810, not 1070",
        context_tokens=8_192,
    )
    assert run["status"] == "complete", run["reason"]
    assert shop.show(f"{run['commit']}:shop.py").endswith(priced)
    assert shop.show(f"{run['commit']}:rates.py").endswith(rated)


UNASKED_FAULT = '''"""Words."""


def mirrored(word):
    """The shortest palindrome that begins with `word`.

    >>> mirrored("cata")
    'catac'
    """
    if not not word:
        return ""
    start = -1
    while word[start:] != word[start:][::-1]:
        start += 1
    return word + word[:start][::-1]
'''
WORDS = """from shop import mirrored


def test_mirrored():
    assert mirrored("") == ""
    assert mirrored("x") == "x"
    assert mirrored("xyz") == "xyzyx"
"""


def test_what_the_docstring_shows_is_mended_too(tmp_path: Path) -> None:
    """One edit is enough for the tests; the docstring's example says that it is not all: a second one is found, and an answer agrees."""
    shop = Shop(tmp_path, WORDS, code=UNASKED_FAULT, max_candidates=1_000)
    issue = "mirrored('x') gives '', not 'x'"
    assert shop.solve([], issue=issue)["status"] == "blocked"
    right = UNASKED_FAULT.replace("not not", "not").replace("start = -1", "start = 0")
    answer = {"pattern": "mirrored", "reply": f"```python\n{right[right.index('def') :]}```"}
    run = shop.solve([answer], issue=issue)
    assert run["status"] == "complete", run["reason"]
    fixed = shop.show(f"{run['commit']}:shop.py")
    assert "start = 0" in fixed
    assert "not not" not in fixed


def test_an_example_that_no_edit_holds_is_not_passed_over(tmp_path: Path) -> None:
    """Tests that ask for too little are passed by an edit, which does not what the docstring shows."""
    wrong = UNASKED_FAULT.replace("'catac'", "'another'")
    shop = Shop(tmp_path, WORDS, code=wrong, max_candidates=1_000)
    run = shop.solve([], issue="mirrored('x') gives '', not 'x'")
    assert run["status"] == "blocked"
    assert "not sure" in shop.explained(run)


FEWER = '''"""Words."""


def fewer(first, second):
    """The list with fewer letters in all; the first one where both have as many.

    >>> fewer(["hi", "admin"], ["hI", "hi", "hi"])
    ['hI', 'hi', 'hi']
    """
    one = 0
    for word in first:
        one -= len(word)
    two = 0
    for word in second:
        two += len(word)
    if one < two:
        return first
    return second
'''
LISTS = """from shop import fewer


def test_fewer():
    assert fewer(["hi", "admin"], ["hI", "Hi"]) == ["hI", "Hi"]
    assert fewer(["4"], ["1", "2", "3"]) == ["4"]
    assert fewer(["ab", "c"], ["abc"]) == ["ab", "c"]
"""


def test_where_an_edit_passes_that_breaks_an_example_likely_pairs_are_tried(tmp_path: Path) -> None:
    """`one = len(word)` passes and is wrong; on top of it only something odd holds the example, and neither half of the right pair passes."""
    shop = Shop(tmp_path, LISTS, code=FEWER, max_candidates=1_500)
    right = FEWER.replace("one -=", "one +=").replace("one < two", "one <= two")
    seen = {"pattern": "fewer", "reply": right[right.index("def") :]}
    run = shop.solve([seen], issue="`fewer` gives the wrong list")
    assert run["status"] == "complete", run["reason"]
    assert shop.show(f"{run['commit']}:shop.py") == right
    tried = [e for e in shop.events(run) if e["kind"] == "candidate.tried"]
    assert "ast:compare&assign" in {e["generator"] for e in tried if e["passed"]}


SPLIT_FAULTS = '''"""Words."""


def pieces(txt):
    """Words between blanks, else between commas, else how many small letters of an even code there are."""
    if " " in txt:
        return txt.split()
    elif "," in txt:
        return txt.replace(" ", ",").split()
    else:
        return len([c for c in txt if c.islower() or ord(c) % 2 == 0])
'''
SPLITS = """from shop import pieces


def test_commas():
    assert pieces("Hello,world!") == ["Hello", "world!"]


def test_blanks():
    assert pieces("Hello,Hello,world !") == ["Hello,Hello,world", "!"]


def test_letters():
    assert pieces("aaabb") == 2
    assert pieces("") == 0
"""


def test_a_small_model_is_asked_where_edits_differ(tmp_path: Path) -> None:
    """All that pass mend the commas alike and the letters differently: what belongs there is asked, the commas are not."""
    shop = Shop(tmp_path, SPLITS, code=SPLIT_FAULTS, max_candidates=1_000)
    line = "return len([c for c in txt if c.islower() and ord(c) % 2 == 0])"
    run = shop.solve(
        [{"pattern": "____", "reply": f"```python\n{line}\n```"}],
        issue="pieces('aaabb') gives 5, not 2",
        context_tokens=8_192,
    )
    assert run["status"] == "complete", run["reason"]
    masked = [text for text in shop.asked(run) if "____" in text]
    assert "len([c for" not in masked[0]
    assert "____" in masked[0].partition("else:")[2]


REBATE = '''"""Prices."""


def price(items, rate=0):
    """The sum of all items, after a rebate in per cent."""
    kept = list(items)
    return sum(kept) * rate
'''
REBATES = """from shop import price


def test_price():
    assert price([10, 20], 10) == 27
    assert price([5]) == 5
"""


def test_what_no_test_asks_for_is_taken_back_from_an_answer(tmp_path: Path) -> None:
    """The smallest part of it that passes is taken, where it does the same."""
    shop = Shop(tmp_path, REBATES, code=REBATE)
    answer = REBATE.replace("list(", "sorted(").replace("* rate", "* (100 - rate) / 100")
    reply = "```python\n" + answer.partition("\n\n\n")[2] + "```"
    run = shop.solve(
        [{"pattern": "Function `price`", "reply": reply}],
        issue="price([10, 20], 10) gives 300, not 27",
    )
    assert run["status"] == "complete", run["reason"]
    fixed = shop.show(f"{run['commit']}:shop.py")
    assert "(100 - rate)" in fixed
    assert "kept = list(items)" in fixed


def test_a_line_that_a_model_fills_in_mends_what_no_edit_does(tmp_path: Path) -> None:
    """However often it is asked for, it is one answer; with a second one, given in words, it is taken."""
    shop = Shop(tmp_path, REBATES, code=REBATE, max_candidates=1_000)
    line = "return sum(kept) * (100 - rate) / 100"
    issue = "price([10, 20], 10) gives 300, not 27"
    filled = {"pattern": r"kept = list\(items\)\n    ____", "reply": line}
    alone = shop.solve([filled], issue=issue, context_tokens=8_192, fills_gaps=True)
    assert alone["status"] == "blocked"
    assert "one answer alone" in shop.explained(alone)
    code = REBATE.partition("\n\n\n")[2].replace("return sum(kept) * rate", line)
    said = {"pattern": "Function `price`", "reply": f"```python\n{code}```"}
    run = shop.solve([filled, said], issue=issue, context_tokens=8_192, fills_gaps=True)
    assert run["status"] == "complete", run["reason"]
    assert line in shop.show(f"{run['commit']}:shop.py")


def test_a_line_that_a_model_fills_in_is_no_edit_with_which_two_answers_are_enough(
    tmp_path: Path,
) -> None:
    """It has not seen what stood there, as little as an answer from the docstring has."""
    shop = Shop(tmp_path, REBATES, code=REBATE, max_candidates=1_000)
    line = "return sum(kept) * (100 - rate) / 100"
    code = REBATE.partition("\n\n\n")[2].replace("return sum(kept) * rate", line)
    rules = [
        {"pattern": r"kept = list\(items\)\n    ____", "reply": line},
        {"pattern": "Function `price`", "reply": code},
    ]
    small = {"context_tokens": 8_192, "parallel": 1, "fills_gaps": True}
    run = shop.solve(rules, issue="price([10, 20], 10) gives 300, not 27", **small)
    assert run["status"] == "complete", run["reason"]
    decided = [e for e in shop.events(run) if e.get("decision") == "candidate_edit"]
    assert len(decided) >= RepairLimits().least_samples


def test_a_line_that_does_the_same_is_no_second_answer(tmp_path: Path) -> None:
    """A right line and a harmless one beside it are one answer, not two."""
    shop = Shop(tmp_path, REBATES, code=REBATE, max_candidates=1_000)
    rules = [
        {
            "pattern": r"kept = list\(items\)\n    ____",
            "reply": "return sum(kept) * (100 - rate) / 100",
        },
        {"pattern": r"____\n    return", "reply": "kept = [*items]"},
    ]
    issue = "price([10, 20], 10) gives 300, not 27"
    run = shop.solve(rules, issue=issue, context_tokens=8_192, fills_gaps=True)
    assert run["status"] == "blocked"
    assert "one answer alone" in shop.explained(run)


LATE = """def late(days, fee):
    if days < 0:
        return (days - fee) * 2
    return days
"""
LATES = """from shop import late


def test_late():
    assert late(8, 0) == 16
    assert late(10, 1) == 22
    assert late(2, 0) == 2
"""


def test_an_edit_on_top_of_a_line_of_the_model_is_a_candidate(tmp_path: Path) -> None:
    """The line alone mends one of two calls, and the edit on it the other."""
    shop = Shop(tmp_path, LATES, code=LATE, max_candidates=2_000)
    line = {
        "purpose": "gap_fill",
        "pattern": r"____\n        return",
        "reply": "if days > int('7'):",
    }
    run = shop.solve([line], issue="late(8, 0) gives 8, not 16", fills_gaps=True)
    assert run["status"] == "complete", run["reason"]
    fixed = shop.show(f"{run['commit']}:shop.py")
    assert "if days > int('7'):" in fixed
    assert "(days + fee) * 2" in fixed


def test_a_line_that_a_model_filled_in_is_no_vote_for_the_edit_on_top_of_it(tmp_path: Path) -> None:
    """It is not asked for once more beside that edit, of which it says nothing."""
    code = LATE.replace("return (days", "due = days\n        return (due")
    shop = Shop(tmp_path, LATES, code=code, max_candidates=2_000)
    line = {"pattern": r"____\n        due", "reply": "if days > int('7'):"}
    small = {"context_tokens": 8_192, "parallel": 1, "fills_gaps": True}
    run = shop.solve([line], issue="late(8, 0) gives 8, not 16", **small)
    assert run["status"] == "complete", run["reason"]
    assert " taken: 0 samples and " in shop.explained(run)


FEE = """def fee(hours):
    '''What some hours of parking cost, with the two for the ticket.'''
    return hours - 2
"""
FEES = """from shop import fee


def test_fee():
    assert fee(2) == 4
"""


def test_of_edits_that_pass_alike_the_likelier_is_taken(tmp_path: Path) -> None:
    """By a model that says how likely each is, and by nothing else: no answer holds code."""
    shop = Shop(tmp_path, FEES, code=FEE, max_candidates=1_000)
    issue = "fee(2) gives 0, not 4"
    unsure = shop.solve([], issue=issue, fills_gaps=True)
    assert unsure["status"] == "blocked"
    assert "other behaviour" in shop.explained(unsure)
    likely = {"purpose": "gap_fill", "reply": "return hours + 2"}
    run = shop.solve([likely], issue=issue, fills_gaps=True)
    assert run["status"] == "complete", run["reason"]
    assert "return hours + 2" in shop.show(f"{run['commit']}:shop.py")
    assert "share of the likelihood is 1.00" in shop.explained(run)


@pytest.mark.parametrize(
    ("body", "few"),
    [("return hours + 2", True), ("return hours +", False), ("return 2 * hours", False)],
    ids=["all say so", "one is no code", "one does something else"],
)
def test_answers_that_all_do_what_an_edit_does_are_enough_by_two(
    tmp_path: Path, body: str, *, few: bool
) -> None:
    """One that does not, or cannot be read, and at least as many as always are asked."""
    shop = Shop(tmp_path, FEES, code=FEE, max_candidates=1_000)
    rules = [
        {"pattern": "____", "reply": "return hours + 2"},
        {"purpose": "candidate_edit", "reply": f"def fee(hours):\n    {body}\n"},
    ]
    small = {"context_tokens": 8_192, "parallel": 1, "fills_gaps": True}
    run = shop.solve(rules, issue="fee(2) gives 0, not 4", **small)
    decided = [e for e in shop.events(run) if e.get("decision") == "candidate_edit"]
    limits = RepairLimits()
    if few:
        assert run["status"] == "complete", run["reason"]
        assert len(decided) == limits.unanimous
    else:
        assert len(decided) >= limits.least_samples


@pytest.mark.parametrize("check", ["== 4", ">= 1"], ids=["few pass", "forty pass"])
def test_where_edits_that_pass_are_unlikely_lines_are_filled_in_too(
    tmp_path: Path, check: str
) -> None:
    """None of them is likelier than the fault itself, so the right change is looked for elsewhere, however many they are."""
    shop = Shop(tmp_path, FEES.replace("== 4", check), code=FEE, max_candidates=1_000)
    filled = {"purpose": "gap_fill", "reply": "return 2 + abs(hours)"}
    run = shop.solve([filled], issue="fee(2) gives 0, not 4", fills_gaps=True)
    assert "candidate by model:fill passes" in shop.explained(run)


COUNT = """def with_ones(digits):
    if digits == 1:
        return 0
    return 18 + 10 ** (digits - 2)
"""
COUNTS = """from shop import with_ones


def test_with_ones():
    assert with_ones(2) == 18
    assert with_ones(4) == 1800
    assert with_ones(5) == 18000
"""


def test_a_line_that_no_test_holds_and_that_is_a_slip_to_the_model_is_not_left(
    tmp_path: Path,
) -> None:
    """Answers that all leave it say nothing of it; with one that has it, too, both lines are mended."""
    shop = Shop(tmp_path, COUNTS, code=COUNT, max_candidates=1_000)
    issue = "with_ones(2) gives 19, not 18"
    left = COUNT.replace("18 +", "18 *")
    mended = left.replace("return 0", "return 1")
    fill = {"pattern": r"if digits == 1:\n        ____", "reply": "return 1"}
    answers = [f"```python\n{code}```" for code in (left, mended)]
    before = {"pattern": "Function `with_ones`", "reply": answers[0]}
    taken = shop.solve([before], issue=issue, context_tokens=8_192, fills_gaps=True)
    assert taken["status"] == "complete", shop.explained(taken)
    assert "return 0" in shop.show(f"{taken['commit']}:shop.py")
    refused = shop.solve([fill, before], issue=issue, context_tokens=8_192, fills_gaps=True)
    assert refused["status"] == "blocked", shop.explained(refused)
    told = "line 3: return 0 becomes return 1 to a model, which no answer says"
    assert told in shop.explained(refused)
    both = {"pattern": "Function `with_ones`", "replies": answers}
    run = shop.solve([fill, both], issue=issue, context_tokens=8_192, fills_gaps=True)
    assert run["status"] == "complete", run["reason"]
    fixed = shop.show(f"{run['commit']}:shop.py")
    assert "return 1" in fixed
    assert "return 18 * 10" in fixed


SHORTER = '''def shorter(one, other):
    """Whichever of two texts has fewer letters.

    If both have the same number of letters, return the first one.
    """
    return sorted([one, other], key=len)[1]
'''
SHORTER_TESTS = """from shop import shorter


def test_one():
    assert shorter("a", "bcd") == "a"


def test_other():
    assert shorter("bcd", "a") == "a"


def test_none():
    assert shorter("", "xy") == ""
"""


def test_of_equals_the_one_that_the_docstring_names_is_given(tmp_path: Path) -> None:
    """No test gives equals, and every answer forgets them; of what thinks of them the smallest is taken."""
    shop = Shop(tmp_path, SHORTER_TESTS, code=SHORTER, max_candidates=1_000)
    line = "    return sorted([one, other], key=len)[1]\n"
    answer = SHORTER.replace(line, "    return one if len(one) < len(other) else other\n")
    run = shop.solve([{"pattern": "shorter", "reply": answer}], issue="`shorter` gives the longer")
    assert run["status"] == "complete", shop.explained(run)
    done: dict[str, Any] = {}
    exec(shop.show(f"{run['commit']}:shop.py"), done)
    assert done["shorter"]("ab", "cd") == "ab"
    assert done["shorter"]("abc", "cd") == "cd"


CART = '''"""Carts."""


class Cart:
    """What somebody buys."""

    def __init__(self):
        self.prices = []

    def add(self, price):
        """Put in one thing; the cart itself, so that calls can follow each other."""
        self.prices.append(price)
        return self

    def total(self):
        """Sum of all prices."""
        if self.prices == [2, 3]:
            raise RuntimeError("full")
        return sum(self.prices)
'''
CARTS = """from shop import Cart


def test_total():
    cart = Cart()
    assert cart.add(2).add(3).total() == 5


def test_chain():
    cart = Cart()
    assert cart.add(1) is cart
"""


def test_a_run_whose_tests_show_objects_is_replayed_the_same(tmp_path: Path) -> None:
    """Where an object lies differs from process to process, and is nobody's fact."""
    shop = Shop(tmp_path, CARTS, code=CART, max_candidates=400)
    model = shop.scripted([])
    run = shop.run("solve", "--test", "test_shop.py::test_total", "--model", model)
    assert run["model_calls"]  # prompts tell how the test fails
    again = shop.surefoot("replay", str(run["run_id"]))
    assert again.returncode == 0, again.stdout + again.stderr


def test_an_issue_that_cannot_be_reproduced_says_so(tmp_path: Path) -> None:
    shop = Shop(tmp_path, TESTS)
    run = shop.solve([], issue="the shop is slow")
    assert run["status"] == "blocked"
    assert "no test could be written that fails" in shop.explained(run)


def test_an_unknown_mode_is_warned_of(tmp_path: Path) -> None:
    """It does least, and says so while it runs and afterwards."""
    shop = Shop(tmp_path, TESTS + DISCOUNT)
    done = shop.surefoot("solve", "x", "--mode", "bogus", "--model", shop.scripted([]))
    assert "mode 'bogus' is unknown and is read as report_only" in done.stderr
    assert "auto_solve_full" in done.stderr


def test_a_file_that_cannot_be_written_is_refused_before_the_work(tmp_path: Path) -> None:
    shop = Shop(tmp_path, TESTS)
    for command in (("audit",), ("preflight", "test_shop.py"), ("parity", "test_shop.py")):
        done = shop.surefoot(*command, "--sarif-out", str(tmp_path / "nowhere" / "f.sarif"))
        assert done.returncode == 2
        assert "there is no folder" in " ".join(done.stderr.split())
        assert "Traceback" not in done.stderr
