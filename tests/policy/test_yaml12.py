"""One document to nodes: places, tabs, aliases, bounds, and syntax errors in plain words."""

from __future__ import annotations

import pytest

from drr.policy import read_policy
from drr.policy.yaml12 import MAX_DEPTH, Mapping, Node, Scalar, Sequence, compose
from drr.policy.yaml_events import FastParser, YamlSyntaxError
from tests.policy.texts import CACHED, PREMIUM, with_quantum

BOTH_PARSERS = pytest.mark.parametrize("pure", [False, True], ids=["libyaml", "pure"])


def plain(node: Node | None) -> object:
    """Texts, tags and places of a tree as plain data."""
    match node:
        case Scalar():
            return node.position[:2], node.tag, node.text, node.plain
        case Sequence():
            return node.position[:2], node.tag, [plain(item) for item in node.items]
        case Mapping():
            return node.position[:2], node.tag, [(plain(key), plain(value)) for key, value in node.pairs]
    return None


def error_in(text: str, *, pure: bool = False) -> YamlSyntaxError:
    with pytest.raises(YamlSyntaxError) as caught:
        compose(text, pure=pure)
    return caught.value


def test_libyaml_is_in_use_here() -> None:
    assert FastParser is not None


@BOTH_PARSERS
def test_places_are_those_of_the_users_text(pure: bool) -> None:
    root = compose("# é日😀\na:\t 5\r\nb: ['ü', \"x\\n\"]\n", pure=pure)
    assert plain(root) == (
        (2, 1),
        None,
        [
            (((2, 1), None, "a", True), ((2, 5), None, "5", True)),
            (((3, 1), None, "b", True), ((3, 4), None, [((3, 5), None, "ü", False), ((3, 10), None, "x\n", False)])),
        ],
    )


@pytest.mark.parametrize(
    "text", [PREMIUM, CACHED, "a: !!str 5\nb: &x [1, *x2]\n".replace("*x2", "2"), "? [a]\n: |\n  x\n"]
)
def test_both_parsers_give_the_same_tree(text: str) -> None:
    assert plain(compose(text)) == plain(compose(text, pure=True))


@BOTH_PARSERS
@pytest.mark.parametrize("written", ["quantum:\t512", "quantum: \t512", "quantum:\t512\t# tokens", "quantum\t: 512"])
def test_a_tab_may_stand_beside_a_colon_and_before_a_comment(written: str, pure: bool) -> None:
    root = compose(f"{written}\n", pure=pure)
    assert isinstance(root, Mapping)
    ((key, value),) = root.pairs
    assert isinstance(key, Scalar)
    assert isinstance(value, Scalar)
    assert (key.text, value.text) == ("quantum", "512")
    assert value.position.column == written.index("512") + 1


@BOTH_PARSERS
@pytest.mark.parametrize("indent", ["\t", "  \t", "    \t"])
def test_a_tab_in_the_indentation_is_named(indent: str, pure: bool) -> None:
    error = error_in(PREMIUM.replace("    quantum: 512", f"{indent}quantum: 512"), pure=pure)
    assert (error.line, error.column) == (10, indent.index("\t") + 1)
    assert "tab" in error.message
    assert "spaces" in error.message


@BOTH_PARSERS
@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("a: 1\nquantum 512\nb: 2\n", (2, 1), "the colon, or the space after it, is missing"),
        ("a: b: c\n", (1, 5), "second `: `"),
        ("a: [1, 2\nb: 3\n", (1, 4), "lacks a comma or its `]`"),
        ("a: {b: 1\nc: 3\n", (1, 4), "lacks a comma or its `}`"),
        ('a: "b\nc: 3\n', (1, 4), "never closed"),
        ("a:\n  - b\n  c: 1\n", (3, 3), "this line"),
        ("a: @b\n", (1, 4), "cannot start a value"),
        ('a: "\\q"\n', (1, 5), "backslash"),
        ("a:\n  -b: 1\n   c: 1\n", (2, 3), "space after the dash"),
        ("a: *b\n", (1, 4), "no anchor"),
        ("a: &b [*b]\n", (1, 8), "inside what it names"),
        ("a: 1\n---\nb: 2\n", (2, 1), "second document"),
        ("a: [b, , c]\n", (1, 8), "a value is missing"),
        ("a: 1\n...\nb: 2\n", (3, 1), "end of the document"),
    ],
)
def test_syntax_errors_say_where_and_what(text: str, place: tuple[int, int], words: str, pure: bool) -> None:
    error = error_in(text, pure=pure)
    assert error.line == place[0]
    assert pure or error.column == place[1]
    assert words in error.message
    assert error.allowed


@pytest.mark.parametrize(("line", "word"), [("%YAML 1.3", "version"), ("%FOO bar", "directive")])
def test_unknown_directives_are_refused(line: str, word: str) -> None:
    assert word in error_in(f"{line}\n---\na: 1\n").message


@pytest.mark.parametrize("text", ["---\na: 1\n...\n", "%YAML 1.2\n---\na: 1\n", "a: 1\n...\n# end\n", "\n\n# x\na: 1"])
def test_markers_around_one_document_are_fine(text: str) -> None:
    assert isinstance(compose(text), Mapping)


@pytest.mark.parametrize("text", ["", "\n", "# only a comment\n"])
def test_no_document_is_no_node(text: str) -> None:
    assert compose(text) is None


def test_an_alias_is_the_very_node_it_names_and_the_last_anchor_of_a_name_counts() -> None:
    root = compose("a: &x [1]\nb: *x\nc: &x 2\nd: *x\n")
    assert isinstance(root, Mapping)
    values = [value for _, value in root.pairs]
    assert values[0] is values[1]
    assert values[2] is values[3]


@BOTH_PARSERS
def test_depth_is_bounded_with_aliases_too(pure: bool) -> None:
    assert compose("[" * MAX_DEPTH + "]" * MAX_DEPTH, pure=pure) is not None
    assert "levels deep" in error_in("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), pure=pure).message
    half = "[" * 70 + "]" * 70
    assert "levels deep" in error_in(f"a: &a {half}\nb: {'[' * 70}*a{']' * 70}", pure=pure).message


def test_aliases_are_bounded_by_what_they_stand_for() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]" for level in range(1, 9)]
    assert compose("\n".join(lines[:4])) is not None
    assert "the aliases of this file stand for more than" in error_in("\n".join(lines)).message


def test_an_unknown_alias_suggests_a_close_one() -> None:
    reading = read_policy(with_quantum("&quantum 512").replace("quantum: 128", "quantum: *quantun"))
    (error,) = reading.errors
    assert error.suggestion == "*quantum"
    assert error.line == 17
