"""Words of other languages that only make sense against their test runner are named with their line."""

import pytest

from surefoot.suite import suspicious_source

MEANT_FOR_THE_RUNNER = [
    ("a.js", "import { test } from 'node:test';", "node:test"),
    ("a.mjs", "import v8 from 'node:v8';", "node:v8"),
    ("a.cjs", "const v8 = require('v8');", "require('v8'"),
    ("a.ts", "assert.strictEqual = () => {};", "assert.strictEqual ="),
    ("a.js", "process.reallyExit(0);", "process.reallyExit"),
    ("a.js", "process.on('beforeExit', f);", "beforeExit"),
    ("a.js", "fs.readFileSync('/proc/self/environ');", "/proc/"),
    ("a.js", "Array.prototype.map = f;", "Array.prototype.map ="),
    ("a.go", 'import "testing"', '"testing"'),
    ("a.go", 'fmt.Println("--- PASS: TestAdd")', "--- PASS"),
    ("a.rs", "std::process::exit(0);", "process::exit"),
    ("a.py", "import pytest", "imports pytest"),
]
INNOCENT = [
    ("a.js", "if (assert === b) f(); const g = (assert) => assert.ok == 1;"),
    ("a.js", "export const total = (list) => list.reduce((a, b) => a + b, 0); process.exit(1);"),
    ("a.go", 'import "fmt"\nfunc Add(a, b int) int { return a + b }'),
    ("a.rs", "pub fn process(x: i32) -> i32 { x }"),
    ("a.sh", "cat /proc/cpuinfo"),
]


@pytest.mark.parametrize(("path", "text", "word"), MEANT_FOR_THE_RUNNER)
def test_what_is_meant_for_the_runner_is_named(path: str, text: str, word: str) -> None:
    """Only what a change adds; what was there before stays innocent."""
    told = suspicious_source(path, "\n", f"\n{text}\n")
    assert any(word in each and "(line 2)" in each for each in told), told
    assert suspicious_source(path, text, f"\n{text}\n") == ()


@pytest.mark.parametrize(("path", "text"), INNOCENT)
def test_ordinary_code_is_innocent(path: str, text: str) -> None:
    """Other languages have no rule."""
    assert suspicious_source(path, None, text) == ()
