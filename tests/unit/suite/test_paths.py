"""Paths that are tests, and paths that steer runner, gates or interpreter, are told from product files."""

import pytest

from surefoot.suite import is_control_path, is_test_path

TESTS = """
tests/test_x.py test_x.py x_test.py pkg/tests/helpers.py tests/conftest.py conftest.py tests/data/x.json
test/run.py src/pkg/testing/fakes.py web/a.test.ts web/a.spec.js __tests__/a.js tests/fixtures/a.py
tests.py docs/test_guide.rst
test.js lib/add-test.mjs test-add.cjs lib/add_test.ts calc/calc_test.go calc/testdata/in.txt spec/helper.rb
lib/calc_spec.rb src/AddTest.java src/AddTests.cs CalcSpec.scala lib/__mocks__/fs.js
t/receipt.t lib/add.bats Zend/add.phpt src/AddTest.php
src/setupTests.ts setup-tests.js
"""
PRODUCT = """
src/Latest.java src/latest.js src/contest.go pkg/spec/core.py src/attest.rs Contest.kt src/latest.php lib/Money.pm t.pl
src/pkg/core.py contest.py latest.py pkg/attest_x.py testimony.py README.md protests/sign.py a/testify/b.py
"""
CONTROL = """
conftest.py tests/conftest.py pytest.ini tox.ini setup.cfg setup.py pyproject.toml sub/pyproject.toml noxfile.py
Makefile .github/workflows/ci.yml .gitlab-ci.yml .pre-commit-config.yaml .coveragerc mypy.ini ruff.toml .ruff.toml
surefoot.toml sitecustomize.py src/usercustomize.py x.pth lib/x.pth pkg.egg-info/entry_points.txt a/b.so
requirements.txt requirements-dev.txt poetry.lock pytest.py _pytest/runner.py pluggy.py .surefoot/x Jenkinsfile
package-lock.json yarn.lock pnpm-lock.yaml .npmrc jest.config.js vitest.config.mts .mocharc.yml .eslintrc.json
tsconfig.build.json go.mod go.sum Cargo.toml Cargo.lock build.rs .cargo/config.toml rust-toolchain.toml pom.xml
build.gradle.kts Gemfile.lock node_modules/left-pad/index.js build/addon.node
pkg/__pycache__/a.cpython-311.pyc x.dist-info/RECORD src/unittest/__init__.py .ci/run package.json
phpunit.xml.dist .proverc composer.json .config/nextest.toml tox.toml hatch.toml bunfig.toml deno.json mix.exs testng.xml
src/Calc/Calc.csproj ci.runsettings Directory.Build.props calc.gemspec
"""
FREE = """
src/pkg/core.py tests/test_x.py README.md docs/conf.py src/pkg/setup_helper.py config.toml pkg/pytest_like.py
src/app/makefile_parser.py src/jest.ts src/config.js src/gradle.kt cargo/main.rs src/build.go
src/phpunit.php lib/proverc.pm src/csproj.cs src/composer.php
"""


@pytest.mark.parametrize("path", TESTS.split())
def test_tests_are_tests(path: str) -> None:
    """Test files and everything in directories of tests."""
    assert is_test_path(path)


@pytest.mark.parametrize("path", PRODUCT.split())
def test_products_are_not_tests(path: str) -> None:
    """Names that only look alike are product files."""
    assert not is_test_path(path)


@pytest.mark.parametrize("path", CONTROL.split())
def test_control_paths_are_recognised(path: str) -> None:
    """Configuration, CI, hooks of the runner and of Python's start, lock files, compiled code."""
    assert is_control_path(path)


@pytest.mark.parametrize("path", FREE.split())
def test_other_paths_are_free(path: str) -> None:
    """Product and test files can be changed without steering anything."""
    assert not is_control_path(path)
