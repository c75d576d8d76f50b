"""Words of other languages that only make sense against their test runner are named with their line."""

import pytest

from surefoot.suite import suspicious_source

MEANT_FOR_THE_RUNNER = [
    ("a.js", "import { test } from 'node:test';", "node:test"),
    ("a.mjs", "import v8 from 'node:v8';", "node:v8"),
    ("a.cjs", "const v8 = require('v8');", "require('v8'"),
    ("a.ts", "assert.strictEqual = () => {};", "assert.strictEqual ="),
    ("a.js", "const a = require('node:assert'); a.strictEqual = a.equal = f;", "a.strictEqual ="),
    ("a.js", "import a from 'node:assert'; a.equal = () => {};", "a.equal ="),
    ("a.mjs", "import * as a from 'assert/strict'; a['ok'] ??= f;", "a['ok'] ??="),
    ("a.ts", "import { strict as s } from 'assert'; s.deepEqual = f;", "s.deepEqual ="),
    ("a.js", "require('assert').ok = f;", "require('assert').ok ="),
    ("a.js", "const a = require('assert'); const b = a; b.ok = f;", "b.ok ="),
    (
        "a.js",
        "const { expect } = require('chai'); Object.assign(expect, {});",
        "Object.assign(expect",
    ),
    (
        "a.js",
        "import a from 'assert'; Object.defineProperty(a, 'ok', {});",
        "Object.defineProperty(a",
    ),
    ("a.js", "expect.extend({ toBe() { return { pass: true }; } });", "expect.extend"),
    ("a.js", "globalThis.test = (name, f) => {};", "globalThis.test ="),
    ("a.js", "global['it'] = f;", "global['it'] ="),
    ("a.mjs", "import v8 from 'v8';", "from 'v8'"),
    ("a.js", "process.reallyExit(0);", "process.reallyExit"),
    ("a.js", "process.on('beforeExit', f);", "beforeExit"),
    ("a.js", "fs.readFileSync('/proc/self/environ');", "/proc/"),
    ("a.js", "Array.prototype.map = f;", "Array.prototype.map ="),
    ("a.go", 'import "testing"', '"testing"'),
    ("a.go", 'fmt.Println("--- PASS: TestAdd")', "--- PASS"),
    ("a.rs", "std::process::exit(0);", "process::exit"),
    ("a.py", "import pytest", "imports pytest"),
    ("a.pm", 'print "ok 1 - adds\\n";', "ok 1"),
    ("a.pm", 'print "o", "k 1\\n"; exit;', "exit"),
    ("a.pm", "exit if $done;", "exit"),
    ("a.pm", "use POSIX ();", "POSIX"),
    ("a.pl", "Test::More::pass('adds');", "Test::More"),
    ("a.pm", "*Receipt::line = sub { 1 };", "*Receipt::line ="),
    ("a.pm", "do './forge.txt';", "do '"),
    ("a.rb", "exit!(0)", "exit!"),
    ("a.rb", "  exit", "exit"),
    ("a.rb", "Minitest.module_eval { }", "Minitest"),
    ("a.rb", "at_exit { puts 1 }", "at_exit"),
    ("a.rb", "def ==(other) = true", "def =="),
    ("a.php", "<?php exit(0);", "exit("),
    ("a.php", "<?php die;", "die;"),
    ("a.php", "use PHPUnit\\Framework\\Assert;", "PHPUnit"),
    ("A.java", "System.exit(0);", "exit("),
    ("A.java", "Runtime.getRuntime().halt(0);", "getRuntime"),
    ("A.java", 'out.write("<testsuite tests=\\"1\\">");', "<testsuite"),
    ("A.kt", "exitProcess(0)", "exitProcess"),
    ("a.c", "_exit(0);", "_exit"),
    ("a.c", "exit(EXIT_SUCCESS);", "exit("),
    ("a.c", "(exit)(0);", "exit"),
    ("a.c", "dup2(fd, 1);", "dup2("),
    ("a.h", "#define assert(x)", "#define assert"),
    ("a.cpp", "std::quick_exit(0);", "quick_exit"),
    ("a.cpp", "#include <gtest/gtest.h>", "#include <gtest"),
    ("A.cs", "Environment.Exit(0);", "Exit("),
    ("a.swift", "exit(0)", "exit("),
    ("a.sh", "exit 0", "exit"),
    ("a.sh", 'printf "1..2\\n"', '"1..2'),
    ("a.lua", "os.exit(0)", "exit("),
    ("a.exs", 'IO.puts("1..2")', '"1..2'),
    ("bin/tool", "kill(0, 9)", "kill("),
    ("a.sh", "cat /proc/cpuinfo", "/proc/"),
]
INNOCENT = [
    ("a.js", "if (assert === b) f(); const g = (assert) => assert.ok == 1;"),
    ("a.js", "export const total = (list) => list.reduce((a, b) => a + b, 0); process.exit(1);"),
    ("a.go", 'import "fmt"\nfunc Add(a, b int) int { return a + b }'),
    ("a.rs", "pub fn process(x: i32) -> i32 { x }"),
    (
        "a.js",
        "const assert = require('node:assert');\nassert.equal(a.b, 1);\nconst c = { ok: assert };",
    ),
    (
        "a.mjs",
        "import assert from 'node:assert';\nassert(x === 1);\nif (x.ok == 1 || assert.ok == 2) f();",
    ),
    (
        "a.js",
        "const a = require('assert');\na.ok(x);\nthis.a.ok = 1; data.a = 2; globalThis.cache = {};",
    ),
    ("a.js", "let sum\nconst a = require('assert')\nlet n, b = require('assert')\nsum.x = n.x = 1"),
    ("a.pm", 'for my $n (1..10) { print "$n\\n" } # exits early\nexit 2;\nmy %on = (exit => 1);'),
    ("a.rb", "(1..10).each { |n| puts n }\ndef ==(other)\n  name == other.name\nend\nexit(1)"),
    ("a.php", "<?php if ($x === null) { throw new RuntimeException('exit'); } exit(2);"),
    ("A.java", 'System.out.println("ok"); list.forEach(x -> run(x)); if (bad) System.exit(2);'),
    ("a.c", '#include <stdio.h>\nint f(int x) { printf("%d ok\\n", x); return x; }\n// exit early'),
    ("a.cpp", 'throw std::runtime_error("kill"); exit(1); std::regex_match(s, m);'),
    ("a.sh", 'for f in *; do echo "$f"; done || exit 1'),
    ("a.lua", "local function add(a, b) return a + b end"),
    ("README.md", "Call `exit(0)`; TAP prints `ok 1`."),
]


@pytest.mark.parametrize(("path", "text", "word"), MEANT_FOR_THE_RUNNER)
def test_what_is_meant_for_the_runner_is_named(path: str, text: str, word: str) -> None:
    """Only what a change adds; what was there before stays innocent."""
    told = suspicious_source(path, "\n", f"\n{text}\n")
    assert any(word in each and "(line 2)" in each for each in told), told
    assert suspicious_source(path, text, f"\n{text}\n") == ()


@pytest.mark.parametrize(("path", "text"), INNOCENT)
def test_ordinary_code_is_innocent(path: str, text: str) -> None:
    """An end of the process that says that something failed forges nothing; prose is no program."""
    assert suspicious_source(path, None, text) == ()
