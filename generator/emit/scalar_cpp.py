"""A formula as plain scalar C++: loops in double over arrays, one element at a time, as an example program checks with.

The text uses the ``Array`` class and the helper functions of ``templates/examples``. A statement is a nest of loops over its
axes; a reduction is a loop before the statement that adds into a variable; an index that can leave its tensor is read
through ``At``, with the value that stands outside.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from generator.emit.errors import EmitError
from generator.formula import ir
from generator.formula.checked import CheckedSpec
from generator.formula.kinds import kind_of
from generator.formula.walk import walk
from generator.spec.integer import Func, IntExpr, Numel, Sym, product

__all__ = ["CppNames", "elements", "number", "print_function", "size"]

_ATOM, _UNARY, _MUL, _ADD, _REL, _EQ, _AND, _OR, _TERNARY = 9, 8, 7, 6, 5, 4, 3, 2, 1
_WORDS: Final = (
    "alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl const constexpr const_cast continue"
    " decltype default delete do double dynamic_cast else enum explicit export extern false float for friend goto if inline int long"
    " mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast return"
    " short signed sizeof static static_assert static_cast struct switch template this thread_local throw true try typedef typeid"
    " typename union unsigned using virtual void volatile wchar_t while xor xor_eq main std NAN INFINITY OK"
    " int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t size_t errno assert stdin stdout stderr printf"
    " Array Beats Check Decode DeviceTensor Encode FloorDiv FloorMod Forward Maximum Minimum Random Reference Release Rounded Run"
    " Truncated Undefined Upload executor failed message ret stream workspace workspaceSize"
)
_KEYWORDS: Final = frozenset(_WORDS.split())
_BINARY: Final[Mapping[str, tuple[str, int]]] = {"add": ("+", _ADD), "sub": ("-", _ADD), "mul": ("*", _MUL), "div": ("/", _MUL)}
_COMPARE: Final[Mapping[str, tuple[str, int]]] = {
    "lt": ("<", _REL),
    "le": ("<=", _REL),
    "gt": (">", _REL),
    "ge": (">=", _REL),
    "eq": ("==", _EQ),
    "ne": ("!=", _EQ),
}
_STD_WORDS: Final = (
    "exp exp2 expm1 log log2 log10 log1p sqrt floor ceil trunc pow sin cos tan asin acos atan sinh cosh tanh erf erfc isnan isinf isfinite"
)
_STD: Final = frozenset(_STD_WORDS.split())
_LIMITS: Final = {"int8": 7, "uint8": 8, "int16": 15, "int32": 31, "int64": 63}
TYPES: Final[Mapping[str, str]] = {"float": "double", "int": "int64_t", "bool": "char"}


class CppNames:
    """C++ names for the symbols of a formula: unchanged unless C++ or the program needs the name."""

    def __init__(self, taken: Sequence[str] = ()) -> None:
        self.taken = set(taken)

    def __call__(self, name: str) -> str:
        """The C++ name of a symbol of the formula."""
        return self._free(name) if name in _KEYWORDS else name

    def _free(self, name: str) -> str:
        name += "_"
        while name in self.taken or name in _KEYWORDS:
            name += "_"
        return name

    def fresh(self, name: str) -> str:
        """A name nobody has yet, like ``name``."""
        count, candidate = 1, name
        while candidate in self.taken or candidate in _KEYWORDS:
            count += 1
            candidate = f"{name}{'_' if name[-1:].isdigit() else ''}{count}"
        self.taken.add(candidate)
        return candidate


def size(e: IntExpr, names: CppNames, scope: Mapping[str, str] | None = None) -> str:
    """An integer expression as C++; divisions round towards -inf."""
    return _size(e, names, scope or {})[0]


def _size(e: IntExpr, names: CppNames, scope: Mapping[str, str]) -> tuple[str, int]:
    if not e.terms:
        return "0", _ATOM
    out, level = "", _ADD if len(e.terms) > 1 else _MUL
    for m, c in sorted(e.terms, key=lambda t: t[1] < 0):
        factors = [_size_atom(a, names, scope) for a, p in m for _ in range(p)]
        if abs(c) != 1 or not factors:
            factors.insert(0, str(abs(c)))
        if len(e.terms) == 1:
            level = _ADD if c < 0 else _ATOM if len(factors) == 1 else _MUL
        out += (" - " if out else "-") if c < 0 else (" + " if out else "")
        out += " * ".join(factors)
    return out, level


def _size_atom(a: Sym | Numel | Func, names: CppNames, scope: Mapping[str, str]) -> str:
    if isinstance(a, Sym):
        return scope.get(a.name) or names(a.name)
    if isinstance(a, Numel):
        raise EmitError(f"the element count of {a.tensor} stands in a formula")
    function = {"floordiv": "FloorDiv", "mod": "FloorMod", "min": "std::min<int64_t>", "max": "std::max<int64_t>"}[a.op]
    return f"{function}({_size(a.a, names, scope)[0]}, {_size(a.b, names, scope)[0]})"


def number(value: float) -> str:
    """A literal of type double."""
    if value != value:
        return "NAN"
    if value in (float("inf"), float("-inf")):
        return "INFINITY" if value > 0 else "-INFINITY"
    return repr(float(value))


def elements(tensor: ir.Tensor, names: CppNames) -> str:
    """The constructor arguments of a tensor's array: extents and, for a flat buffer, strides and element count."""
    extents = tensor.flat.extents if tensor.flat is not None else tensor.shape
    text = f"{{{', '.join(size(e, names) for e in extents)}}}"
    if tensor.flat is None:
        return text
    strides = ", ".join(size(s, names) for s in tensor.strides())
    return f"{text}, {{{strides}}}, {size(tensor.flat.size, names)}"


def print_function(checked: CheckedSpec, name: str, helpers: set[str]) -> str:
    """``void name(dims, attributes, const inputs, outputs)`` in the program's order of each; the helper functions that it uses
    are added to ``helpers``."""
    return "\n".join(_Function(checked, name, helpers).lines())


@dataclass
class _Block:
    """Lines being written, and the axes in scope: symbol -> C++ name."""

    scope: dict[str, str]
    lines: list[str] = field(default_factory=list)


class _Function:
    def __init__(self, checked: CheckedSpec, name: str, helpers: set[str]) -> None:
        self.program = checked.program
        self.name = name
        self.helpers = helpers
        p = self.program
        self.values = (*p.dims, *p.int_attrs, *p.float_attrs, *p.bool_attrs)
        loops = {s.var for s in _loops(p.body)}
        self.names = CppNames([*p.tensors, *self.values, *loops])
        self.renamed: dict[str, str] = {}

    def lines(self) -> Iterator[str]:
        locals_ = [t for t in self.program.tensors.values() if t.role == "local"]
        body = [f"Array<{TYPES[t.kind]}> {self.names(t.name)}({elements(t, self.names)});" for t in locals_]
        body += self._body(self.program.body, {})
        used = set(re.findall(r"\w+", " ".join(body)))
        named = (f"{kind}{name if name in used else ''}".rstrip() for kind, name in self._parameters())
        return iter([f"void {self.name}({', '.join(named)})", "{", *body, "}"])

    def _parameters(self) -> Iterator[tuple[str, str]]:
        """Type and name of each; what the formula does not read stays without a name."""
        p = self.program
        yield from (("int64_t ", self.names(n)) for n in (*p.dims, *p.int_attrs))
        yield from (("double ", self.names(n)) for n in p.float_attrs)
        yield from (("bool ", self.names(n)) for n in p.bool_attrs)
        yield from ((f"const Array<{TYPES[t.kind]}> &", self.names(t.name)) for t in p.inputs)
        yield from ((f"Array<{TYPES[t.kind]}> &", self.names(t.name)) for t in p.outputs)

    # statements -----------------------------------------------------------------------------------------------------
    def _body(self, body: Sequence[ir.Stmt], scope: Mapping[str, str]) -> Iterator[str]:
        for s in body:
            if isinstance(s, ir.For):
                name = self.names(s.var)
                sign, step = ("<", f"{name} += {s.step}") if s.step > 0 else (">", f"{name} -= {-s.step}")
                step = f"++{name}" if s.step == 1 else f"--{name}" if s.step == -1 else step
                start, stop = size(s.start, self.names, scope), size(s.stop, self.names, scope)
                yield f"for (int64_t {name} = {start}; {name} {sign} {stop}; {step}) {{"
                yield from self._body(s.body, scope)
                yield "}"
            else:
                yield from self._assign(s, scope)

    def _assign(self, s: ir.Assign, outer: Mapping[str, str]) -> Iterator[str]:
        kept = set(self.names.taken)
        target = self.program.tensors[s.tensor]
        if self._reads_what_it_writes(s):
            before = self.names.fresh(f"{s.tensor}_before")
            yield f"const Array<{TYPES[target.kind]}> {before} = {self.names(s.tensor)};"
            self.renamed[s.tensor] = before
        block = _Block(dict(outer))
        for b in s.axes:
            yield self._loop(b, block.scope)
        value = self._as(s.value, block, target.kind)
        text = f"{self.names(s.tensor)}({self._indices(s.indices, block)}) = {value[0]};"
        alone = bool(block.lines) and not s.axes  # its own scope for the variables of its reductions
        yield from ["{"] * alone
        yield from (*block.lines, text)
        yield from "}" * (len(s.axes) + alone)
        self.renamed.pop(s.tensor, None)
        self.names.taken = kept | {n for n in self.names.taken if n.endswith("_before")}

    def _loop(self, b: ir.Bound, scope: dict[str, str]) -> str:
        """Opens a loop over an axis, under a name that hides nothing."""
        if b.extent is None:
            raise EmitError(f"the axis {b.name} has no extent")
        extent = size(b.extent, self.names, scope)
        name = self.names.fresh(b.name)
        scope[b.name] = name
        return f"for (int64_t {name} = 0; {name} < {extent}; ++{name}) {{"

    @staticmethod
    def _reads_what_it_writes(s: ir.Assign) -> bool:
        """Whether the right side reads the target at other elements than the one being written."""
        inside = {id(n) for r in walk(s.value) if isinstance(r, ir.Reduce) for n in walk(r.body)}
        loads = (n for n in walk(s.value) if isinstance(n, ir.Load) and n.tensor == s.tensor)
        return any(n.indices != s.indices or id(n) in inside for n in loads)

    # expressions ----------------------------------------------------------------------------------------------------
    def _kind(self, e: ir.Expr) -> str:
        return kind_of(e, self.program.tensors, set(self.program.bool_attrs))

    def _as(self, e: ir.Expr, block: _Block, kind: str) -> tuple[str, int]:
        """``e`` as a value of the given kind."""
        own = self._kind(e)
        if kind == "float" and own in ("weak", "int"):
            if isinstance(e, ir.Num):
                return number(e.value), _ATOM if e.value >= 0 else _UNARY
            if isinstance(e, ir.IntVal) and e.value.value is not None:
                return number(e.value.value), _ATOM if e.value.value >= 0 else _UNARY
            return f"static_cast<double>({self._expr(e, block)[0]})", _ATOM
        return self._expr(e, block)

    def _at(self, e: ir.Expr, block: _Block, kind: str, level: int) -> str:
        text, own = self._as(e, block, kind)
        return text if own >= level else f"({text})"

    def _indices(self, indices: Sequence[ir.Index], block: _Block) -> str:
        return ", ".join(self._index(i, block) for i in indices)

    def _index(self, index: ir.Index, block: _Block) -> str:
        if isinstance(index, IntExpr):
            return size(index, self.names, block.scope)
        if isinstance(index, ir.Gather):
            return self._load(index.load, block)
        raise EmitError(f"an index of the form {type(index).__name__} is left")

    def _load(self, e: ir.Load, block: _Block) -> str:
        name = self.renamed.get(e.tensor) or self.names(e.tensor)
        inner = self._indices(e.indices, block)
        if not e.guarded:
            return f"{name}({inner})"
        outside = 0.0 if e.outside is None else e.outside
        kind = self.program.tensors[e.tensor].kind
        return f"{name}.At({', '.join([number(outside) if kind == 'float' else str(int(outside)), inner])})"

    def _expr(self, e: ir.Expr, block: _Block) -> tuple[str, int]:
        match e:
            case ir.Num(value):
                return (str(value), _ATOM if value >= 0 else _UNARY) if isinstance(value, int) else (number(value), _ATOM)
            case ir.Attr(name):
                return self.names(name), _ATOM
            case ir.IntVal(value):
                return _size(value, self.names, block.scope)
            case ir.Load():
                return self._load(e, block), _ATOM
            case ir.Neg(x):
                return f"-{self._at(x, block, self._kind(e), _ATOM)}", _UNARY
            case ir.Not(x):
                return f"!{self._at(x, block, 'bool', _ATOM)}", _UNARY
            case ir.Binary():
                return self._binary(e, block)
            case ir.Compare(op, a, b):
                kind = "float" if "float" in (self._kind(a), self._kind(b)) else "int"
                sign, level = _COMPARE[op]
                return f"{self._at(a, block, kind, _ADD)} {sign} {self._at(b, block, kind, _ADD)}", level
            case ir.Logic(op, a, b):
                sign = "&&" if op == "and" else "||"
                return f"{self._at(a, block, 'bool', _EQ)} {sign} {self._at(b, block, 'bool', _EQ)}", _AND if op == "and" else _OR
            case ir.Where(cond, a, b):
                kind = self._kind(e)
                picked = f"{self._at(a, block, kind, _OR)} : {self._at(b, block, kind, _OR)}"
                return f"{self._at(cond, block, 'bool', _OR)} ? {picked}", _TERNARY
            case ir.Call():
                return self._call(e, block)
            case ir.Cast():
                return self._cast(e, block)
            case ir.Reduce():
                return self._reduce(e, block)
        raise EmitError(f"a node of the form {type(e).__name__} is not an expression")

    def _binary(self, e: ir.Binary, block: _Block) -> tuple[str, int]:
        kind = self._kind(e)
        if e.op in _BINARY:
            sign, level = _BINARY[e.op]
            return f"{self._at(e.a, block, kind, level)} {sign} {self._at(e.b, block, kind, level + 1)}", level
        if e.op == "pow":
            return f"std::pow({self._as(e.a, block, 'float')[0]}, {self._as(e.b, block, 'float')[0]})", _ATOM
        function = "FloorDiv" if e.op == "floordiv" else "FloorMod"
        return f"{function}({self._as(e.a, block, kind)[0]}, {self._as(e.b, block, kind)[0]})", _ATOM

    def _call(self, e: ir.Call, block: _Block) -> tuple[str, int]:
        kind = "int" if self._kind(e) == "int" else "float"
        args = [self._as(a, block, kind)[0] for a in e.args]
        if e.fn == "abs" or e.fn == "round":
            return f"std::{'abs' if e.fn == 'abs' else 'nearbyint'}({args[0]})", _ATOM
        if e.fn in _STD:
            return f"std::{e.fn}({', '.join(args)})", _ATOM
        self.helpers.add(e.fn)
        return f"{''.join(w.capitalize() for w in e.fn.split('_'))}({', '.join(args)})", _ATOM

    def _cast(self, e: ir.Cast, block: _Block) -> tuple[str, int]:
        if e.dtype == "bool":
            return f"{self._at(e.x, block, self._kind(e.x), _REL)} != 0", _EQ
        if e.dtype in _LIMITS:
            self.helpers.add("cast")
            value = self._as(e.x, block, "float")[0]
            return f"Truncated({value}, {_LIMITS[e.dtype]}, {'false' if e.dtype == 'uint8' else 'true'})", _ATOM
        value = self._as(e.x, block, "float")[0]
        if e.dtype == "float64":
            return f"static_cast<double>({value})", _ATOM
        rounded = {"float32": "ACL_FLOAT", "float16": "ACL_FLOAT16", "bfloat16": "ACL_BF16"}[e.dtype]
        return f"Rounded({value}, {rounded})", _ATOM

    # reductions -----------------------------------------------------------------------------------------------------
    def _reduce(self, e: ir.Reduce, block: _Block) -> tuple[str, int]:
        """Writes the loops of a reduction into ``block`` and gives the variable that holds its value."""
        kind = self._kind(e)
        if e.op in ("argmax", "argmin"):
            return self._argument(e, block)
        result = self.names.fresh({"mean": "sum"}.get(e.op, e.op))
        start = {"sum": "0", "mean": "0", "prod": "1", "max": "-INFINITY", "min": "INFINITY", "any": "false", "all": "true"}[e.op]
        if kind == "float" and start in ("0", "1"):
            start += ".0"
        if kind == "int" and e.op in ("max", "min"):
            start = f"std::numeric_limits<int64_t>::{'lowest' if e.op == 'max' else 'max'}()"
        ctype = {"float": "double", "int": "int64_t", "bool": "bool"}[kind]
        block.lines.append(f"{ctype} {result} = {start};")
        inner = _Block(dict(block.scope), block.lines)
        block.lines.extend(self._loop(b, inner.scope) for b in e.axes)
        body, level = self._as(e.body, inner, kind)
        if e.op in ("sum", "mean"):
            step = f"{result} += {body};"
        elif e.op == "prod":
            step = f"{result} *= {body};"
        elif e.op in ("max", "min"):
            helper = f"{e.op}imum"
            self.helpers.add(helper)
            step = f"{result} = {helper.capitalize()}({result}, {body});"
        else:
            sign = "||" if e.op == "any" else "&&"
            step = f"{result} = {result} {sign} {body if level >= _EQ else f'({body})'};"
        block.lines += [step, *("}" * len(e.axes))]
        if e.op != "mean":
            return result, _ATOM
        if e.divisor is not None:
            return f"{result} / {self._at(e.divisor, block, 'float', _UNARY)}", _MUL
        count = product(b.extent for b in e.axes if b.extent is not None)
        return f"{result} / static_cast<double>({size(count, self.names, block.scope)})", _MUL

    def _argument(self, e: ir.Reduce, block: _Block) -> tuple[str, int]:
        """The row-major position of the first greatest (least) element; NaN wins."""
        self.helpers.add("beats")
        kind = self._kind(e.body)
        ctype = "int64_t" if kind == "int" else "double"
        best, position, at = self.names.fresh("best"), self.names.fresh("position"), self.names.fresh(e.op)
        block.lines += [f"{ctype} {best} = 0;", f"int64_t {at} = 0;", f"int64_t {position} = 0;"]
        inner = _Block(dict(block.scope), block.lines)
        block.lines.extend(self._loop(b, inner.scope) for b in e.axes)
        value = self.names.fresh("value")
        body = self._as(e.body, inner, "int" if kind == "int" else "float")[0]
        first, second = (value, best) if e.op == "argmax" else (f"-{value}", f"-{best}")
        block.lines += [
            f"const {ctype} {value} = {body};",
            f"if ({position} == 0 || Beats({first}, {second})) {{",
            f"{best} = {value};",
            f"{at} = {position};",
            "}",
            f"++{position};",
            *("}" * len(e.axes)),
        ]
        return at, _ATOM


def _loops(body: Sequence[ir.Stmt]) -> Iterator[ir.For]:
    for s in body:
        if isinstance(s, ir.For):
            yield s
            yield from _loops(s.body)
