"""Which grammar reads a file, and what in its syntax tree is a definition or a reference."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import version
from pathlib import PurePosixPath
from typing import Final

from tree_sitter import Language, Query


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar:
    """One language; queries capture names as `definition` and `reference`."""

    package: str
    """Its distribution, which is also its module with `_` for `-`."""
    query: str
    function: str = "language"
    """What of the module gives the language."""


_CALLS: Final = """
(call_expression function: (identifier) @reference)
(call_expression function: (member_expression property: (property_identifier) @reference))
(new_expression constructor: (identifier) @reference)
(import_specifier name: (identifier) @reference)
(import_clause (identifier) @reference)
"""
_JAVASCRIPT: Final = f"""
(function_declaration name: (identifier) @definition)
(generator_function_declaration name: (identifier) @definition)
(class_declaration name: (_) @definition)
(method_definition name: (property_identifier) @definition)
(program (lexical_declaration (variable_declarator name: (identifier) @definition)))
(program (variable_declaration (variable_declarator name: (identifier) @definition)))
(export_statement (lexical_declaration (variable_declarator name: (identifier) @definition)))
(class_heritage (identifier) @reference)
{_CALLS}
"""
_TYPESCRIPT: Final = f"""
{_JAVASCRIPT.replace("(class_heritage (identifier) @reference)", "")}
(abstract_class_declaration name: (type_identifier) @definition)
(interface_declaration name: (type_identifier) @definition)
(type_alias_declaration name: (type_identifier) @definition)
(enum_declaration name: (identifier) @definition)
(abstract_method_signature name: (property_identifier) @definition)
(method_signature name: (property_identifier) @definition)
(extends_clause value: (identifier) @reference)
(type_annotation (type_identifier) @reference)
(generic_type name: (type_identifier) @reference)
(implements_clause (type_identifier) @reference)
"""
_C: Final = """
(function_definition declarator: (function_declarator declarator: (identifier) @definition))
(function_definition declarator: (pointer_declarator
  declarator: (function_declarator declarator: (identifier) @definition)))
(struct_specifier name: (type_identifier) @definition body: (_))
(union_specifier name: (type_identifier) @definition body: (_))
(enum_specifier name: (type_identifier) @definition body: (_))
(type_definition declarator: (type_identifier) @definition)
(preproc_def name: (identifier) @definition)
(preproc_function_def name: (identifier) @definition)
(call_expression function: (identifier) @reference)
(call_expression function: (field_expression field: (field_identifier) @reference))
(parameter_declaration type: (type_identifier) @reference)
(declaration type: (type_identifier) @reference)
"""
GRAMMARS: Final[Mapping[str, Grammar]] = {
    "c": Grammar(package="tree-sitter-c", query=_C),
    "cpp": Grammar(
        package="tree-sitter-cpp",
        query=f"""{_C}
(class_specifier name: (type_identifier) @definition body: (_))
(function_definition declarator: (function_declarator declarator: (field_identifier) @definition))
(function_definition declarator: (function_declarator
  declarator: (qualified_identifier name: (identifier) @definition)))
(call_expression function: (qualified_identifier name: (identifier) @reference))
(base_class_clause (type_identifier) @reference)
""",
    ),
    "go": Grammar(
        package="tree-sitter-go",
        query="""
(function_declaration name: (identifier) @definition)
(method_declaration name: (field_identifier) @definition)
(type_spec name: (type_identifier) @definition)
(source_file (const_declaration (const_spec name: (identifier) @definition)))
(source_file (var_declaration (var_spec name: (identifier) @definition)))
(call_expression function: (identifier) @reference)
(call_expression function: (selector_expression field: (field_identifier) @reference))
(parameter_declaration type: (type_identifier) @reference)
(pointer_type (type_identifier) @reference)
(qualified_type name: (type_identifier) @reference)
(composite_literal type: (type_identifier) @reference)
""",
    ),
    "java": Grammar(
        package="tree-sitter-java",
        query="""
(class_declaration name: (identifier) @definition)
(interface_declaration name: (identifier) @definition)
(enum_declaration name: (identifier) @definition)
(record_declaration name: (identifier) @definition)
(method_declaration name: (identifier) @definition)
(constructor_declaration name: (identifier) @definition)
(method_invocation name: (identifier) @reference)
(object_creation_expression type: (type_identifier) @reference)
(superclass (type_identifier) @reference)
(type_list (type_identifier) @reference)
(formal_parameter type: (type_identifier) @reference)
(field_declaration type: (type_identifier) @reference)
""",
    ),
    "javascript": Grammar(package="tree-sitter-javascript", query=_JAVASCRIPT),
    "python": Grammar(
        package="tree-sitter-python",
        query="""
(class_definition name: (identifier) @definition)
(function_definition name: (identifier) @definition)
(module (expression_statement (assignment left: (identifier) @definition)))
(class_definition superclasses: (argument_list (identifier) @reference))
(call function: (identifier) @reference)
(call function: (attribute attribute: (identifier) @reference))
(decorator (identifier) @reference)
(import_from_statement name: (dotted_name (identifier) @reference))
(type (identifier) @reference)
""",
    ),
    "ruby": Grammar(
        package="tree-sitter-ruby",
        query="""
(class name: (constant) @definition)
(class name: (scope_resolution name: (constant) @definition))
(module name: (constant) @definition)
(method name: (_) @definition)
(singleton_method name: (_) @definition)
(program (assignment left: (constant) @definition))
(call method: (identifier) @reference)
(call receiver: (constant) @reference)
(superclass (constant) @reference)
""",
    ),
    "rust": Grammar(
        package="tree-sitter-rust",
        query="""
(function_item name: (identifier) @definition)
(function_signature_item name: (identifier) @definition)
(struct_item name: (type_identifier) @definition)
(enum_item name: (type_identifier) @definition)
(union_item name: (type_identifier) @definition)
(trait_item name: (type_identifier) @definition)
(type_item name: (type_identifier) @definition)
(const_item name: (identifier) @definition)
(macro_definition name: (identifier) @definition)
(call_expression function: (identifier) @reference)
(call_expression function: (field_expression field: (field_identifier) @reference))
(call_expression function: (scoped_identifier name: (identifier) @reference))
(macro_invocation macro: (identifier) @reference)
(impl_item type: (type_identifier) @reference)
(impl_item trait: (type_identifier) @reference)
(parameter type: (type_identifier) @reference)
(use_declaration argument: (scoped_identifier name: (identifier) @reference))
""",
    ),
    "tsx": Grammar(package="tree-sitter-typescript", query=_TYPESCRIPT, function="language_tsx"),
    "typescript": Grammar(
        package="tree-sitter-typescript", query=_TYPESCRIPT, function="language_typescript"
    ),
}
_SUFFIXES: Final[Mapping[str, str]] = {
    ".c": "c", ".cc": "cpp", ".cjs": "javascript", ".cpp": "cpp", ".cts": "typescript", ".cxx": "cpp",
    ".go": "go", ".h": "c", ".hh": "cpp", ".hpp": "cpp", ".java": "java", ".js": "javascript", ".jsx": "javascript",
    ".mjs": "javascript", ".mts": "typescript", ".py": "python", ".pyi": "python", ".rake": "ruby", ".rb": "ruby",
    ".rs": "rust", ".ts": "typescript", ".tsx": "tsx",
}  # fmt: skip


def language_of(path: str) -> str | None:
    """The language of a file by its name; None for one that no grammar here reads."""
    return _SUFFIXES.get(PurePosixPath(path).suffix.lower())


@cache
def opened(language: str) -> tuple[Language, Query]:
    """A language ready to parse with, and the query for its symbols."""
    grammar = GRAMMARS[language]
    module = import_module(grammar.package.replace("-", "_"))
    loaded = Language(getattr(module, grammar.function)())
    return loaded, Query(loaded, grammar.query)


@cache
def edition(language: str) -> str:
    """What the symbols of a file depend on beside its text."""
    grammar = GRAMMARS[language]
    return f"{language} {version(grammar.package)} {grammar.query}"
