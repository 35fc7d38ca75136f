"""YAML 1.2 text to plain data, with the place of every key and value kept beside it.

Only the core schema is read (strings, integers, floats, booleans, null, lists, maps): no tag constructs anything,
so no text can run code. Anchors and aliases are followed; duplicate keys, foreign tags, merge keys and recursive
aliases are problems.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from io import StringIO
from typing import Any, Final

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError, YAMLStreamError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from generator.spec.errors import TextError

__all__ = ["Tree", "Where", "compose"]

Path = tuple[str | int, ...]
_MAX_NODES: Final = 200_000
_INT: Final = re.compile(r"[-+]?[0-9]+\Z|0o[0-7]+\Z|0x[0-9a-fA-F]+\Z")
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z")


@dataclass(frozen=True, slots=True)
class Where:
    """1-based line and column of a place in the file."""

    line: int
    column: int


@dataclass(slots=True)
class Tree:
    """Plain data and, for every path of keys and positions into it, where its key and its value start."""

    data: Any
    lines: list[str]
    keys: dict[Path, Where] = field(default_factory=dict)
    values: dict[Path, Where] = field(default_factory=dict)
    nodes: dict[Path, Node] = field(default_factory=dict)
    problems: list[TextError] = field(default_factory=list)

    def value_at(self, path: Path) -> Where:
        """Where the value at ``path`` starts; the nearest enclosing value when the path leads nowhere."""
        known = self._known(path)
        return self.values.get(known, Where(1, 1))

    def key_at(self, path: Path) -> Where:
        """Where the key at ``path`` starts; the value's place for a list's element."""
        known = self._known(path)
        return self.keys.get(known) or self.value_at(known)

    def inside(self, path: Path, line: int, column: int) -> Where:
        """Where the character at 1-based ``line`` and ``column`` of the text at ``path`` stands in the file."""
        known = self._known(path)
        node = self.nodes.get(known)
        start = self.value_at(known)
        if known != path or not isinstance(node, ScalarNode):
            return start
        if node.style == "|":
            return self._in_block(node, line, column)
        if node.style == ">" or node.start_mark.line != node.end_mark.line:
            return start
        return Where(start.line, start.column + column - 1 + (1 if node.style in ("'", '"') else 0))

    def _in_block(self, node: ScalarNode, line: int, column: int) -> Where:
        first = int(node.start_mark.line) + 1  # 0-based index of the block's first line
        header = self.lines[first - 1][int(node.start_mark.column) :] if first - 1 < len(self.lines) else ""
        explicit = re.match(r"\|[-+]?([1-9])", header)
        body = self.lines[first : int(node.end_mark.line) + 1]
        if explicit:
            owner = self.lines[first - 1]
            indent = len(owner) - len(owner.lstrip(" ")) + int(explicit.group(1))
        else:
            indent = next((len(text) - len(text.lstrip(" ")) for text in body if text.strip()), 0)
        return Where(first + line, indent + column)

    def _known(self, path: Path) -> Path:
        while path and path not in self.values:
            path = path[:-1]
        return path


def compose(text: str) -> Tree:
    """Parse ``text``; syntax faults raise :class:`TextError`, faults of content are listed in ``problems``."""
    yaml = YAML(typ="safe", pure=True)
    try:
        node = yaml.compose(StringIO(text))
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        said = (error.problem or error.context or "not YAML").replace("\n", " ").strip()
        raise TextError("the file is not valid YAML", said, "one YAML 1.2 mapping", line=line, column=column) from error
    except (YAMLStreamError, YAMLError) as error:
        said = str(error).splitlines()[0]
        raise TextError("the file is not valid YAML", said, "one YAML 1.2 mapping") from error
    if not isinstance(node, MappingNode):
        raise TextError("the file is not a mapping", type(node).__name__, "keys such as name:, params:, formula:")
    tree = Tree(None, text.split("\n"))
    _Builder(tree).run(node)
    return tree


class _Builder:
    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.count = 0
        self.open: set[int] = set()

    def run(self, node: Node) -> None:
        self.tree.data = self.build(node, ())

    def say(self, node: Node, what: str, value: str, right: str) -> None:
        mark = node.start_mark
        self.tree.problems.append(TextError(what, value, right, line=mark.line + 1, column=mark.column + 1))

    def build(self, node: Node, path: Path) -> Any:
        self.count += 1
        if self.count > _MAX_NODES:
            raise TextError("the file expands to too many values", str(_MAX_NODES), "fewer aliases")
        self.tree.values[path] = Where(node.start_mark.line + 1, node.start_mark.column + 1)
        self.tree.nodes[path] = node
        if id(node) in self.open:
            self.say(node, "an alias holds itself", "", "an alias of something outside it")
            return None
        self.open.add(id(node))
        try:
            if isinstance(node, MappingNode):
                return self.mapping(node, path)
            if isinstance(node, SequenceNode):
                return [self.build(child, (*path, at)) for at, child in enumerate(node.value)]
            return self.scalar(node)
        finally:
            self.open.discard(id(node))

    def mapping(self, node: MappingNode, path: Path) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for key, value in node.value:
            if not isinstance(key, ScalarNode):
                self.say(key, "a key is not a word", "", "a plain name as key")
                continue
            name = str(key.value)
            if name in out:
                first = self.tree.keys[(*path, name)]
                self.say(key, "the key is given twice", f"'{name}'", f"one '{name}:' (the first is on line {first.line})")
                continue
            self.tree.keys[(*path, name)] = Where(key.start_mark.line + 1, key.start_mark.column + 1)
            out[name] = self.build(value, (*path, name))
        return out

    def scalar(self, node: Node) -> Any:
        tag = str(node.tag)
        text = str(node.value)
        kind = tag.rsplit(":", 1)[-1] if tag.startswith("tag:yaml.org,2002:") else tag
        if getattr(node, "style", None) in ("'", '"', "|", ">") and kind == "str":
            return text
        if kind not in ("str", "int", "float", "bool", "null", "merge", "timestamp", "value"):
            self.say(node, "a tag is not allowed", f"'{tag}'", "plain values without tags")
            return text
        return _plain(text)


def _plain(text: str) -> Any:
    """A plain scalar under YAML 1.2's core schema."""
    if text in ("", "~", "null", "Null", "NULL"):
        return None
    if text in ("true", "True", "TRUE", "false", "False", "FALSE"):
        return text.lower() == "true"
    if _INT.match(text):
        return int(text, 0) if text[:2] in ("0o", "0x") else int(text)
    if _FLOAT.match(text):
        return float(text)
    if text.lower() in (".inf", "+.inf", "-.inf"):
        return float(text.replace(".", ""))
    return float("nan") if text in (".nan", ".NaN", ".NAN") else text
