"""Checks of everything beside the parameters: dims, dtype combinations, groups, constraints, gradients, tests, benchmarks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from generator.spec.check_flags import check_flags
from generator.spec.check_params import DTYPE_NAMES, condition_names
from generator.spec.conditions import Condition, Names, evaluate, free, parse, typed
from generator.spec.errors import TextError
from generator.spec.integer import IntExpr, sym
from generator.spec.names import bad_identifier, did_you_mean
from generator.spec.sizes import parse_size

if TYPE_CHECKING:
    from generator.spec.checks import Checker
    from generator.spec.load import Loc
    from generator.spec.model import Sizes

__all__ = ["check_values"]


def check_values(c: Checker) -> None:
    """Check every section of the spec but the parameters and the formula."""
    names = condition_names(c)
    _dims(c, names)
    _dtypes(c)
    _groups(c)
    check_flags(c)
    for at, constraint in enumerate(c.spec.constraints):
        _condition(c, ("constraints", at, "that"), constraint.that, names)
    _hf32(c, names)
    _products(c)
    _gradient(c)
    _tests(c, names)


def _condition(c: Checker, loc: Loc, text: str, names: Names) -> Condition | None:
    try:
        condition = parse(text, names)
    except TextError as error:
        c.problems.append(c.source.inside(loc, error))
        return None
    for p in c.spec.params:
        if p.optional and p.symbol in typed(condition):
            c.say(loc, "a condition names the dtype of a parameter that may be null", f"'{p.symbol}'", "a required parameter")
    return condition


# --- dims ----------------------------------------------------------------------------------------------------------


def _dims(c: Checker, names: Names) -> None:
    for name, dim in c.spec.dims.items():
        loc: Loc = ("dims", name)
        if dim.where is not None:
            cond = _condition(c, (*loc, "where"), dim.where, names)
            if cond is not None and name not in free(cond):
                c.say(
                    (*loc, "where"),
                    "the condition does not name its dim",
                    f"'{dim.where}'",
                    f"a condition on '{name}'; others go to 'constraints:'",
                )
        if dim.when_empty is not None and dim.value is None:
            c.say_key((*loc, "when_empty"), "'when_empty' is for dims with a value", f"'{name}'", "value: numel(x) // n")
    known = {n for n, d in c.spec.dims.items() if d.value is not None} | {p.symbol for p in c.spec.params if p.io == "attr"}
    _determined(c, known, names)


def _determined(c: Checker, known: set[str], names: Names) -> None:
    """Every dim without a value is found from the shape of some input, one after another."""
    extents = list(_extents(c, names))
    progress = True
    while progress:
        progress = False
        for e in extents:
            unknown = e.free() - known
            if len(unknown) == 1 and _solvable(e, next(iter(unknown)), known):
                known |= unknown
                progress = True
    for name in c.spec.dims:
        if name not in known:
            c.say_key(("dims", name), "no input's shape gives the dim its size", f"'{name}'", f"an input with a dim '{name}', or 'value:'")


def _solvable(e: IntExpr, name: str, known: set[str]) -> bool:
    """Whether ``e`` is a multiple of ``name`` by what is known, plus what is known."""
    try:
        c = e.coefficient(name)
    except ValueError:
        return False
    return c.value != 0 and c.free() <= known


def _extents(c: Checker, names: Names) -> Sequence[IntExpr]:
    out: list[IntExpr] = []
    for p in c.spec.params:
        if p.io not in ("in", "inout") or p.optional:
            continue
        for text in p.shape or []:
            if text.startswith("*"):
                continue
            try:
                out.append(_with_segments(c, parse_size(text, names.ints, ()), names))
            except TextError:
                continue  # reported with the formula's symbols
    return out


def _with_segments(c: Checker, e: IntExpr, names: Names) -> IntExpr:
    totals: dict[str, IntExpr] = {}
    for axis, parts in c.spec.segments.items():
        total = IntExpr(())
        for shape in parts.values():
            size = sym("1").substitute({"1": 1})
            for text in shape:
                try:
                    size = size * parse_size(text, names.ints, ())
                except TextError:
                    return e
            total = total + size
        totals[axis] = total
    return e.substitute(totals)


# --- dtypes, groups, products ----------------------------------------------------------------------------------------


def _dtypes(c: Checker) -> None:
    used = {p.dtype for p in c.spec.params if p.dtype is not None}
    variables = {v for combination in c.spec.dtypes for v in combination}
    for at, combination in enumerate(c.spec.dtypes):
        loc: Loc = ("dtypes", at)
        for v in combination:
            if v in DTYPE_NAMES or bad_identifier(v) is not None:
                c.say_key((*loc, v), "a dtype variable is a name of its own", f"'{v}'", "X")
            elif v not in used:
                c.say_key(
                    (*loc, v), "no parameter has this dtype variable", f"'{v}'", did_you_mean(v, used - set(DTYPE_NAMES), "dtype variables")
                )
        for v in sorted(variables - set(combination)):
            c.say(loc, "the combination does not cover a dtype variable", f"'{v}'", f"a dtype for each of {', '.join(sorted(variables))}")
        if combination in c.spec.dtypes[:at]:
            c.say(loc, "the combination is given twice", ", ".join(f"{k}: {d}" for k, d in combination.items()), "each combination once")
    for v in sorted(variables):
        kinds = {_kind(combination[v]) for combination in c.spec.dtypes if v in combination}
        if len(kinds) > 1:
            c.say(("dtypes",), "a dtype variable is of one kind", f"'{v}' is {' and '.join(sorted(kinds))}", "two operators, or one kind")


def _kind(dtype: str) -> str:
    return "bool" if dtype == "bool" else "int" if "int" in dtype else "float"


def _groups(c: Checker) -> None:
    optional = {p.symbol: p.optional for p in c.spec.params}
    grouped: dict[str, int] = {}
    for at, group in enumerate(c.spec.groups):
        if len(group.members) < 2:
            c.say(("groups", at, "members"), "a group has two or more members", f"{len(group.members)}", "members: [a, b]")
        for place, member in enumerate(group.members):
            loc: Loc = ("groups", at, "members", place)
            if member not in optional:
                c.say(loc, "the group names an unknown parameter", f"'{member}'", did_you_mean(member, optional, "parameters"))
            elif not optional[member]:
                c.say(loc, "the group names a parameter that is not optional", f"'{member}'", "optional: true in the parameter")
            elif member in grouped:
                c.say(loc, "a parameter is grouped twice", f"'{member}'", f"group {grouped[member] + 1} only")
            grouped.setdefault(member, at)


def _products(c: Checker) -> None:
    if not c.spec.products:
        c.say(("products",), "the operator targets no product", "[]", "Ascend910B, Ascend910_93, Ascend950")
    for at, product in enumerate(c.spec.products):
        if product in c.spec.products[:at]:
            c.say(("products", at), "the product is given twice", f"'{product}'", "each product once")


def _hf32(c: Checker, names: Names) -> None:
    """The attribute is an integer that the kernel gets, and its values are some that it may have."""
    rule = c.spec.hf32
    if rule is None:
        return
    found = next((p for p in c.spec.params if p.io == "attr" and p.symbol == rule.attr), None)
    ints = [p.symbol for p in c.spec.params if p.io == "attr" and p.type == "int"]
    if found is None or found.type != "int":
        what = "no attribute has this name" if found is None else f"the attribute is of type '{found.type}'"
        c.say(("hf32", "attr"), what, f"'{rule.attr}'", did_you_mean(rule.attr, ints, "int attributes"))
        return
    if found.aclnn_only:
        right = "an attribute without 'aclnn_only: true'"
        c.say(("hf32", "attr"), "the attribute is of the aclnn call alone, the kernel does not get it", f"'{rule.attr}'", right)
    if c.spec.compute != "float32":
        c.say_key(("hf32",), "HF32 stands for float32", f"compute: {c.spec.compute}", "compute: float32, or no 'hf32:'")
    if not rule.values:
        c.say(("hf32", "values"), "no value allows HF32", "[]", "values: [1], or no 'hf32:'")
    ranges = _ranges(c, names)
    for at, value in enumerate(rule.values):
        if value in rule.values[:at]:
            c.say(("hf32", "values", at), "the value is given twice", str(value), "each value once")
        _in_range(c, ("hf32", "values", at), rule.attr, value, ranges)


# --- gradients, tests, benchmarks -----------------------------------------------------------------------------------


def _gradient(c: Checker) -> None:
    symbols = {p.symbol for p in c.spec.params}
    if c.spec.forward is None and c.spec.binds:
        c.say_key(("binds",), "'binds' is for gradients", "", "forward: the operator this is the gradient of")
    if c.spec.forward == c.spec.name:
        c.say(("forward",), "an operator is not its own gradient", f"'{c.spec.forward}'", "the forward operator's name")
    outputs = [p.symbol for p in c.spec.params if p.io in ("out", "inout")]
    for name in c.spec.audited:
        if c.spec.forward is None:
            c.say_key(("audited", name), "'audited' is for gradients", f"'{name}'", "forward: the operator this is the gradient of")
        elif name not in outputs:
            c.say_key(("audited", name), "no output has this name", f"'{name}'", did_you_mean(name, outputs, "outputs"))
    for name in c.spec.binds:
        if name not in symbols:
            c.say_key(("binds", name), "binds an unknown parameter", f"'{name}'", did_you_mean(name, symbols, "parameters"))


def _tests(c: Checker, names: Names) -> None:
    inputs = {p.symbol for p in c.spec.params if p.io in ("in", "inout")}
    sizes = [n for n in names.ints if n not in c.spec.segments] + [f"numel_{b}" for b in _pack_names(c)]
    ranges = _ranges(c, names)
    t = c.spec.tests
    for name, values in t.values.items():
        loc: Loc = ("tests", "values", name)
        if name not in sizes:
            c.say_key(loc, "no dim or int attribute has this name", f"'{name}'", did_you_mean(name, sizes, "dims and int attributes"))
            continue
        for at, value in enumerate(values):
            _in_range(c, (*loc, at), name, value, ranges)
    reals = [*names.floats, *names.bools]
    for name, choices in t.attrs.items():
        if name not in reals:
            c.say_key(
                ("tests", "attrs", name), "no float or bool attribute has this name", f"'{name}'", did_you_mean(name, reals, "attributes")
            )
            continue
        for at, choice in enumerate(choices):
            _in_range(c, ("tests", "attrs", name, at), name, choice, ranges)
    for name, (low, high) in ((n, (v[0], v[1])) for n, v in t.inputs.items()):
        if name not in inputs:
            c.say_key(("tests", "inputs", name), "no input has this name", f"'{name}'", did_you_mean(name, inputs, "inputs"))
        elif low > high:
            c.say(("tests", "inputs", name), "the range is empty", f"[{low}, {high}]", "[lowest, highest]")
    for name in t.from_forward:
        if name not in inputs:
            c.say_key(("tests", "from_forward", name), "no input has this name", f"'{name}'", did_you_mean(name, inputs, "inputs"))
        elif c.spec.forward is None:
            c.say_key(("tests", "from_forward", name), "there is no forward operator to compute it", f"'{name}'", "forward: its name")
    for at, case in enumerate(t.cases):
        _case(c, ("tests", "cases", at), case, sizes, reals, ranges)
    for at, case in enumerate(c.spec.bench):
        _case(c, ("bench", at), case, sizes, reals, ranges)


def _case(
    c: Checker, loc: Loc, case: Sizes, sizes: Sequence[str], reals: Sequence[str], ranges: Mapping[str, list[tuple[str, Condition]]]
) -> None:
    for name, value in case.sizes.items():
        if name not in sizes:
            c.say_key(
                (*loc, "sizes", name),
                "no dim or int attribute has this name",
                f"'{name}'",
                did_you_mean(name, sizes, "dims and int attributes"),
            )
        else:
            _in_range(c, (*loc, "sizes", name), name, value, ranges)
    for name, choice in case.attrs.items():
        if name not in reals:
            c.say_key(
                (*loc, "attrs", name), "no float or bool attribute has this name", f"'{name}'", did_you_mean(name, reals, "attributes")
            )
        else:
            _in_range(c, (*loc, "attrs", name), name, choice, ranges)
    if not any(case.dtypes.items() <= combination.items() for combination in c.spec.dtypes or [{}]):
        said = ", ".join(f"{n}={d}" for n, d in case.dtypes.items())
        legal = "; ".join(", ".join(f"{n}={d}" for n, d in combination.items()) for combination in c.spec.dtypes)
        c.say((*loc, "dtypes"), "no dtype combination has these dtypes", said, legal or "no 'dtypes': they are fixed")
    count = max((len(p.ranks) for p in c.spec.params), default=0)
    if not 0 <= case.rank <= count:
        c.say(
            (*loc, "rank"),
            "there is no such alternative rank",
            str(case.rank),
            f"0 .. {count}" if count else "no 'rank': there is one shape",
        )


def _pack_names(c: Checker) -> list[str]:
    packs = [text[1:].strip() for p in c.spec.params for text in p.shape or [] if text.startswith("*")]
    return [b for b in packs if b not in c.spec.broadcast]


def _ranges(c: Checker, names: Names) -> dict[str, list[tuple[str, Condition]]]:
    """For each name, the conditions that concern it alone."""
    out: dict[str, list[tuple[str, Condition]]] = {}
    texts = [*(d.where for d in c.spec.dims.values()), *(p.where for p in c.spec.params), *(k.that for k in c.spec.constraints)]
    for text in texts:
        if text is None:
            continue
        try:
            cond = parse(text, names)
        except TextError:
            continue
        concerned = free(cond)
        if len(concerned) == 1 and not typed(cond) and "numel" not in text:
            out.setdefault(next(iter(concerned)), []).append((text, cond))
    return out


def _in_range(c: Checker, loc: Loc, name: str, value: float, ranges: Mapping[str, list[tuple[str, Condition]]]) -> None:
    for text, cond in ranges.get(name, []):
        if not evaluate(cond, {name: value}):
            c.say(loc, f"a value of '{name}' is out of range", str(value), text)
            return
    if name in c.spec.dims and value < 0:
        c.say(loc, "a size is negative", str(value), "0 or more")
