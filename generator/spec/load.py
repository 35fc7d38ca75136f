"""Spec files to :class:`Source`: a typed ``OpSpec`` together with the place of everything in it."""

from __future__ import annotations

import math
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from generator.spec.errors import Problem, SpecError, TextError
from generator.spec.model import OpSpec
from generator.spec.names import did_you_mean, nearest
from generator.spec.nodes import Tree, Where, compose

__all__ = ["Source", "explained", "read", "scan"]

Loc = tuple[str | int, ...]


@dataclass(frozen=True)
class Source:
    """A spec as written. ``spec`` is None when the text is too broken to be typed; ``whole`` is False when values were
    replaced to be able to go on checking; ``problems`` is what reading found."""

    path: Path
    text: str
    tree: Tree
    spec: OpSpec | None
    whole: bool = True
    problems: list[Problem] = field(default_factory=list)

    def problem(self, where: Where, what: str, value: str = "", right: str = "") -> Problem:
        """A problem of this file at ``where``."""
        return Problem(str(self.path), where.line, where.column, what, value, right)

    def at(self, *loc: str | int) -> Where:
        """Where the value at a path such as ``("params", 0, "shape", 1)`` starts."""
        return self.tree.value_at(loc)

    def key(self, *loc: str | int) -> Where:
        """Where the key at a path starts."""
        return self.tree.key_at(loc)

    def inside(self, loc: Loc, error: TextError) -> Problem:
        """The problem that a fault in the text at ``loc`` is."""
        where = self.tree.inside(loc, error.line, error.column)
        return self.problem(where, error.what, error.value, error.right)


def read(path: str | Path) -> Source:
    """Read and check one spec file, its formula excepted; :class:`SpecError` lists every problem found."""
    from generator.spec.checks import check

    path = Path(path)
    source = scan(_text_of(path), path)
    problems = source.problems + check(source)
    if problems:
        raise SpecError(problems)
    return source


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise SpecError([Problem(str(path), 1, 1, "the file cannot be read", error.strerror or str(error), "a spec file")]) from error
    except UnicodeDecodeError as error:
        raise SpecError([Problem(str(path), 1, 1, "the file is not UTF-8", f"byte {error.start}", "UTF-8 text")]) from error


def text_of(path: Path) -> str:
    """The text of a spec file; :class:`SpecError` when it cannot be read."""
    return _text_of(path)


def scan(text: str, path: str | Path) -> Source:
    """Type a spec's text, going on past faults as far as possible; :class:`SpecError` only when it is no YAML mapping."""
    path = Path(path)
    try:
        tree = compose(text)
    except TextError as error:
        raise SpecError([Problem(str(path), error.line, error.column, error.what, error.value, error.right)]) from error
    source = Source(path, text, tree, None)
    problems = [source.problem(Where(e.line, e.column), e.what, e.value, e.right) for e in tree.problems]
    data, whole = tree.data, not problems
    for _ in range(50):
        try:
            spec = OpSpec.model_validate(data)
        except ValidationError as error:
            found, data, usable = _mend(source, data, error)
            problems += [p for p in found if p not in problems]
            whole = whole and usable is not False and all(e["type"] == "extra_forbidden" for e in error.errors(include_url=False))
            if usable is None:
                return Source(path, text, tree, None, False, problems)
        else:
            return Source(path, text, tree, spec, whole, problems)
    return Source(path, text, tree, None, False, problems)


def _mend(source: Source, data: Any, error: ValidationError) -> tuple[list[Problem], Any, bool | None]:
    """Translate pydantic's findings; return them, the data with the faults taken out, and whether that is usable."""
    problems: list[Problem] = []
    seen: set[Where] = set()
    data = _copy(data)
    usable: bool | None = True
    # unions report once per member: the finding with the deepest place in the file speaks for all
    misspelt = _misspelt(error)
    details = sorted(error.errors(include_url=False), key=lambda e: -len(_known(source, e["loc"])))
    for detail in details:
        if detail["type"] == "missing" and detail["loc"] in misspelt:
            _put(data, (*misspelt[detail["loc"]][:-1], detail["loc"][-1]), detail["input"][misspelt[detail["loc"]][-1]])
            continue  # said of the unknown key
        problem, loc = _translate(source, detail)
        where = Where(problem.line, problem.column)
        if where in seen and detail["type"] != "missing":
            continue
        if any(loc == other[: len(loc)] and loc != other for other in _seen_locs(problems, source)) and detail["type"] != "missing":
            continue
        seen.add(where)
        problems.append(problem)
        if detail["type"] == "extra_forbidden":
            _drop(data, loc)
        elif detail["type"] == "missing":
            if detail["loc"][-1] in ("about", "summary"):
                _put(data, tuple(detail["loc"]), {"en": "", "zh": ""})
                usable = usable and False
            else:
                usable = None
        elif detail["type"] in ("literal_error", "enum"):
            allowed = _allowed(detail)
            _put(data, loc, nearest(str(detail["input"]), allowed) or allowed[0])
            usable = usable and False
        elif not _drop(data, loc):
            usable = None
        else:
            usable = usable and False
    return problems, data, usable


def _misspelt(error: ValidationError) -> dict[Loc, Loc]:
    """Missing keys for which an unknown key of the same mapping is the likely spelling: both paths."""
    details = error.errors(include_url=False)
    extra = [d["loc"] for d in details if d["type"] == "extra_forbidden"]
    out: dict[Loc, Loc] = {}
    for d in details:
        if d["type"] != "missing":
            continue
        here = [loc for loc in extra if loc[:-1] == d["loc"][:-1]]
        close = nearest(str(d["loc"][-1]), [str(loc[-1]) for loc in here])
        if close is not None:
            out[d["loc"]] = (*d["loc"][:-1], close)
    return out


def _seen_locs(problems: Sequence[Problem], source: Source) -> list[Loc]:
    places = {(p.line, p.column) for p in problems}
    return [loc for loc, where in source.tree.values.items() if (where.line, where.column) in places]


def explained(source: Source, error: ValidationError, root: type[BaseModel]) -> list[Problem]:
    """pydantic's findings about a file typed as ``root``, in our words: of a union's, the one deepest in the file."""
    out: dict[tuple[int, int], Problem] = {}
    for detail in sorted(error.errors(include_url=False), key=lambda e: -len(_known(source, e["loc"]))):
        problem, _ = _translate(source, detail, root)
        out.setdefault((problem.line, problem.column), problem)
    return list(out.values())


def _translate(source: Source, detail: ErrorDetails, root: type[BaseModel] = OpSpec) -> tuple[Problem, Loc]:
    """One pydantic finding in our words, with the path in the file it is about."""
    kind = detail["type"]
    loc = _known(source, detail["loc"])
    given = detail["input"]
    if kind == "extra_forbidden":
        loc = tuple(detail["loc"])
        loc = loc if loc in source.tree.values else (*_known(source, loc[:-1]), loc[-1])
        keys = _keys_allowed(detail["loc"], root)
        return source.problem(source.key(*loc), "unknown key", f"'{loc[-1]}'", did_you_mean(str(loc[-1]), keys, "keys here")), loc
    if kind == "missing":
        name = str(detail["loc"][-1])
        return source.problem(source.at(*loc), "a key is missing", f"'{name}:'", f"give '{name}:' here"), loc
    where = source.at(*loc)
    if kind == "literal_error":
        allowed = _allowed(detail)
        close = nearest(str(given), allowed)
        right = (f"did you mean '{close}'? " if close else "") + f"allowed: {', '.join(allowed)}"
        return source.problem(where, f"'{_label(loc)}' has a value that is not allowed", f"'{given}'", right), loc
    return source.problem(where, f"'{_label(loc)}' has the wrong type", _show(given), _expected(kind, detail)), loc


def _expected(kind: str, detail: ErrorDetails) -> str:
    words = {
        "string_type": "text (put it in quotes if it looks like a number)",
        "int_type": "an integer",
        "int_parsing": "an integer",
        "int_from_float": "an integer",
        "float_type": "a number",
        "float_parsing": "a number",
        "bool_type": "true or false",
        "bool_parsing": "true or false",
        "list_type": "a list",
        "dict_type": "a mapping (key: value)",
        "model_type": "a mapping (key: value)",
        "model_attributes_type": "a mapping (key: value)",
    }
    if kind in ("too_short", "too_long"):
        context = detail.get("ctx", {})
        return f"{context.get('min_length', context.get('max_length'))} values"
    return words.get(kind, detail["msg"][:1].lower() + detail["msg"][1:])


def _allowed(detail: ErrorDetails) -> list[str]:
    said = str(detail.get("ctx", {}).get("expected", ""))
    return [part.strip().strip("'") for part in said.replace(" or ", ", ").split(",")]


def _label(loc: Loc) -> str:
    words = [str(part) for part in loc if isinstance(part, str)]
    return words[-1] if words else "the file"


def _show(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _known(source: Source, loc: Loc) -> Loc:
    """The longest path into the file that ``loc`` describes, with pydantic's union tags left out."""
    out: Loc = ()
    for part in loc:
        if (*out, part) in source.tree.values:
            out = (*out, part)
    return out


def _keys_allowed(loc: Loc, root: type[BaseModel] = OpSpec) -> list[str]:
    """The keys of the model that ``loc``'s last part was written in."""
    model: Any = root
    for part in loc[:-1]:
        model = _step(model, part)
    return sorted(model.model_fields) if isinstance(model, type) and issubclass(model, BaseModel) else []


def _step(annotation: Any, part: str | int) -> Any:
    annotation = _bare(annotation)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        known = annotation.model_fields.get(str(part))
        return _bare(known.annotation) if known else None
    origin, args = get_origin(annotation), get_args(annotation)
    if origin in (list, Sequence):
        return _bare(args[0])
    if origin in (dict, Mapping):
        return _bare(args[1])
    return annotation


def _bare(annotation: Any) -> Any:
    """``annotation`` without Annotated and without ``| None``."""
    while get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    if get_origin(annotation) in (Union, types.UnionType):
        members = [a for a in get_args(annotation) if a is not type(None) and get_origin(a) is not Literal]
        return _bare(members[0]) if len(members) == 1 else annotation
    return annotation


def _copy(data: Any) -> Any:
    if isinstance(data, dict):
        return {k: _copy(v) for k, v in data.items()}
    return [_copy(v) for v in data] if isinstance(data, list) else data


def _drop(data: Any, loc: Loc) -> bool:
    holder = _holder(data, loc)
    if isinstance(holder, dict) and loc and loc[-1] in holder:
        del holder[loc[-1]]
        return True
    if isinstance(holder, list) and loc and isinstance(loc[-1], int) and loc[-1] < len(holder):
        return False  # dropping a list's element would renumber the others
    return False


def _put(data: Any, loc: Loc, value: Any) -> None:
    holder = _holder(data, loc)
    if isinstance(holder, dict | list) and loc:
        holder[loc[-1]] = value  # type: ignore[index]


def _holder(data: Any, loc: Loc) -> Any:
    for part in loc[:-1]:
        try:
            data = data[part]
        except (KeyError, IndexError, TypeError):
            return None
    return data
