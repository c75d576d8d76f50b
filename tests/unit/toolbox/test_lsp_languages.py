"""Which language server is asked about which file."""

import pytest

from surefoot.errors import UsageError
from surefoot.toolbox.lsp import own_languages
from surefoot.toolbox.lsp.languages import LANGUAGES, language_of, own_language

PHP = own_language(("phpactor", "language-server"), {".php": "php"})
OWN_C = own_language(("clangd",), {".c": "c", ".cu": "cuda-cpp"})


def test_a_language_of_the_settings_is_known() -> None:
    """By its suffix in upper or lower case, with its command in what messages call it."""
    assert language_of("shop/Cart.PHP", (OWN_C, PHP)) is PHP
    assert PHP.server == "phpactor language-server"
    assert "'phpactor'" in PHP.install


def test_it_goes_before_the_one_that_is_built_in() -> None:
    """For its own suffixes only; the two are not one, though both are called clangd."""
    assert language_of("main.c", (OWN_C,)) is OWN_C
    built_in = language_of("main.cpp", (OWN_C,))
    assert built_in in LANGUAGES
    assert built_in.server == OWN_C.server
    assert built_in != OWN_C


def test_one_command_is_one_server() -> None:
    """It is told of the files of each section that names it, in their own languages."""
    command = ("types", "--stdio")
    types, other = own_languages(
        [
            (command, {".ts": "typescript"}),
            (("types",), {".vue": "vue"}),
            (command, {".tsx": "typescriptreact"}),
        ]
    )
    assert (types.argv, types.ids) == (command, {".ts": "typescript", ".tsx": "typescriptreact"})
    assert (other.argv, other.ids) == (("types",), {".vue": "vue"})


def test_the_error_names_its_suffixes_too() -> None:
    """Each once; without the settings there is none for them."""
    with pytest.raises(UsageError, match=r"'a\.txt'; there are for \.c, \.cc, .*\.cu, .*\.php, "):
        language_of("a.txt", (OWN_C, PHP))
    with pytest.raises(UsageError, match=r"'a\.php'; there are for \.c, "):
        language_of("a.php")
