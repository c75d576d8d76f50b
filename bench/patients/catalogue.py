"""The patients. Both releases are pinned by hash; the tests and issues stand in `cases/`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

CASES: Final = Path(__file__).with_name("cases")
PYTEST: Final = ("pytest==8.4.2",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """One source distribution on the package index."""

    version: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Patient:
    """A released bug, its release, the release that fixed it, and how its tests are run."""

    name: str
    package: str
    buggy: Release
    fixed: Release
    changelog: str
    """What the fixing release says of it, and where."""
    test_path: str
    """Where the regression test goes in the package's tree."""
    mends: str
    """The file that the maintainers changed."""
    needs: tuple[str, ...] = ()
    """What the package and its own tests import, pinned."""
    editable: bool = False
    """The package is installed into the environment as an editable one, as its developers do."""
    left_out: tuple[str, ...] = ()
    """Own tests that fail on both releases in this environment, as pytest's `--deselect` takes them."""

    @property
    def folder(self) -> Path:
        """`ISSUE.md`, `test_regression.py` (goes into the tree), `test_hidden.py` (only grades)."""
        return CASES / self.name


_BOLTONS_26_1: Final = Release(
    version="26.1.0", sha256="5764468aba493b15995ed17f46a16789023f123ca2a62d491a9ce825c1cbe26c"
)
_BOLTONS_26_2: Final = Release(
    version="26.2.0", sha256="d39cfd15c1a1c3bd4d705c82252fa9edb8e4f5e8cc039f8e39afac7b1b47e92c"
)

PATIENTS: Final = (
    Patient(
        name="boltons-bytes2human",
        package="boltons",
        buggy=_BOLTONS_26_1,
        fixed=_BOLTONS_26_2,
        changelog="CHANGELOG.md 26.2.0: bytes2human failing to use the `Y` suffix for yottabyte-sized values",
        test_path="tests/test_regression_strutils.py",
        mends="boltons/strutils.py",
    ),
    Patient(
        name="boltons-most-common",
        package="boltons",
        buggy=_BOLTONS_26_1,
        fixed=_BOLTONS_26_2,
        changelog="CHANGELOG.md 26.2.0: ThresholdCounter.most_common returning no pairs when the limit is omitted",
        test_path="tests/test_regression_cacheutils.py",
        mends="boltons/cacheutils.py",
    ),
    Patient(
        name="humanize-naturalsize",
        package="humanize",
        buggy=Release(
            version="4.12.0",
            sha256="87ff7b43591370b12a1d103c9405849d911d4b039ed22d80b718b62c76eec8a3",
        ),
        fixed=Release(
            version="4.12.1",
            sha256="1338ba97415c96556758a6e2f65977ed406dddf4620d4c6db9bbdfd07f0f1232",
        ),
        changelog="release notes 4.12.1: fix regression in naturalsize for float",
        test_path="tests/test_regression_filesize.py",
        mends="src/humanize/filesize.py",
        needs=("freezegun==1.5.1", "pytest-cov==6.0.0"),
        editable=True,
    ),
    Patient(
        name="marshmallow-epoch",
        package="marshmallow",
        buggy=Release(
            version="3.21.1",
            sha256="4e65e9e0d80fc9e609574b9983cf32579f305c718afb30d7233ab818571768c3",
        ),
        fixed=Release(
            version="3.21.2",
            sha256="82408deadd8b33d56338d2182d455db632c6313aa2af61916672146bb32edc56",
        ),
        changelog="CHANGELOG.rst 3.21.2: allow timestamp 0 in fields.DateTime (issue 2133)",
        test_path="tests/test_regression_datetime.py",
        mends="src/marshmallow/fields.py, src/marshmallow/utils.py",
        needs=("packaging==24.2", "pytz==2024.2", "simplejson==3.19.3"),
        editable=True,
    ),
    Patient(
        name="more-itertools-exactly-n",
        package="more-itertools",
        buggy=Release(
            version="10.8.0",
            sha256="f638ddf8a1a0d134181275fb5d58b086ead7c6a72429ad725c67503f13ba30bd",
        ),
        fixed=Release(
            version="11.0.0",
            sha256="1fca6853f57fbfabc36ad31b3c3d72490340a414f1cc0eec78436fb847837304",
        ),
        changelog="docs/versions.rst 11.0.0: a bug in exactly_n's handling of negative arguments was fixed",
        test_path="tests/test_regression_exactly_n.py",
        mends="more_itertools/more.py",
    ),
    Patient(
        name="parse-int-base",
        package="parse",
        buggy=Release(
            version="1.17.0",
            sha256="c7806139a481ec8c8336a54418894c8b201314f8ecc63e55f438f4b72bdc4485",
        ),
        fixed=Release(
            version="1.18.0",
            sha256="91666032d6723dc5905248417ef0dc9e4c51df9526aaeef271eacad6491f06a4",
        ),
        changelog="README.rst 1.18.0: correct bug in int parsing introduced in 1.16.0",
        test_path="test_regression_int.py",
        mends="parse.py",
    ),
    Patient(
        name="portion-repr",
        package="portion",
        buggy=Release(
            version="2.0.0",
            sha256="64c86f2029cf1a917fb7055962a025183fdac8512a8e32abfff1ce7de4b70ed3",
        ),
        fixed=Release(
            version="2.0.1",
            sha256="337d55a97dab6170eee13777ad354be9f2f6000c58a670b1947984a442aa6614",
        ),
        changelog="CHANGELOG.md 2.0.1: fix invalid representations of non-atomic intervals composed of a singleton",
        test_path="tests/test_regression_repr.py",
        mends="portion/interval.py",
        needs=("sortedcontainers==2.4.0",),
    ),
    Patient(
        name="validators-mailto",
        package="validators",
        buggy=Release(
            version="0.34.0",
            sha256="647fe407b45af9a74d245b943b18e6a816acf4926974278f6dd617778e1e781f",
        ),
        fixed=Release(
            version="0.35.0",
            sha256="992d6c48a4e77c81f1b4daba10d16c3a9bb0dbb79b3a19ea847ff0928e70497a",
        ),
        changelog='CHANGES.md 0.35.0: replace `lstrip("mailto:")` with manual prefix removal',
        test_path="tests/test_regression_uri.py",
        mends="src/validators/uri.py",
        needs=("eth-hash[pycryptodome]==0.7.1",),
        editable=True,
    ),
    Patient(
        name="yamllint-key-duplicates",
        package="yamllint",
        buggy=Release(
            version="1.26.3",
            sha256="3934dcde484374596d6b52d8db412929a169f6d9e52e20f9ade5bf3523d9b96e",
        ),
        fixed=Release(
            version="1.27.0",
            sha256="c2924c9ee73ca56090c814339d27bfd554a2a9f1a0694bc35d34cc811e247cb5",
        ),
        changelog="CHANGELOG.rst 1.27.0: key-duplicates: don't crash on redundant closing brackets or braces",
        test_path="tests/test_regression_key_duplicates.py",
        mends="yamllint/rules/key_duplicates.py",
        # PyYAML's wheel brings a compiled extension; setuptools for pkg_resources.
        needs=("PyYAML==6.0.2", "pathspec==0.12.1", "setuptools==75.8.0"),
    ),
)
