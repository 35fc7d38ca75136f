"""The printer of KernelPlan trees to Ascend C: statements, arguments, and the member functions they are split into.

``StagePrinter`` turns the body of one stage into the text of ``Process()`` and of one member function per titled block.
It knows the interface's spelling (namespaces, casts, which argument is an element) and nothing of any operator.
Counts and structure fields are passed unnarrowed, so that the interface, not the printer, decides their width.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from generator.emit.errors import EmitError
from generator.emit.integers import integer
from generator.emit.names import method
from generator.emit.walk import locals_of, used_names, without_unused
from generator.plan import tree
from generator.spec.integer import IntExpr

__all__ = ["Method", "StagePrinter", "condition", "control", "queue_type", "scalar"]

Names = Callable[[str], str]

SCALAR_POSITION: Final[Mapping[str, int]] = {
    **dict.fromkeys(("Duplicate", "CreateVecIndex"), 1),
    **dict.fromkeys(("Adds", "Muls", "Maxs", "Mins", "LeakyRelu", "ShiftLeft", "ShiftRight", "CompareScalar", "Compares", "Axpy"), 2),
    "Select": 3,
}
"""Position of the argument whose type must be the element type, because the interface deduces it from both."""

_INLINE_LIMIT: Final = 3  # a titled block of fewer statements stays in place
_INTS: Final = frozenset({"int8_t", "uint8_t", "int16_t", "uint16_t", "int32_t", "uint32_t", "int64_t", "uint64_t"})


@dataclass(frozen=True)
class Method:
    """A member function made from a titled block."""

    name: str
    title: str
    parameters: str
    body: str


@dataclass
class StagePrinter:
    """Prints one stage. ``types`` respells element types (``half`` -> a template parameter); ``members`` are the
    integer names that live in the class (tiling fields, stage arguments, ``blockIdx``)."""

    types: Mapping[str, str]
    members: frozenset[str]
    queues: Mapping[str, str]  # buffer name -> member name
    gms: Mapping[str, str]  # global tensor name -> member name
    methods: list[Method] = field(default_factory=list)
    used: set[str] = field(default_factory=set)  # members read, in the class and by Init
    floats: set[str] = field(default_factory=set)
    _scopes: list[dict[str, str]] = field(default_factory=lambda: [{}])

    # --- entry ------------------------------------------------------------------------------------------------------
    def process(self, body: tuple[tree.Node, ...]) -> str:
        """The text of ``Process()``; member functions accumulate in ``methods`` in order of first use."""
        return self._body(without_unused(body))

    def int_text(self, expr: IntExpr) -> str:
        return integer(expr, self._name)

    # --- names ------------------------------------------------------------------------------------------------------
    def _kind(self, name: str) -> str | None:
        for scope in reversed(self._scopes):
            if name in scope:
                return scope[name]
        return None

    def _name(self, name: str) -> str:
        if self._kind(name) is not None:
            return name
        if name in self.members:
            self.used.add(name)
            return name + "_"
        raise EmitError(f"the plan uses '{name}', which is neither a local, a loop variable nor a tiling field")

    def _declare(self, name: str, kind: str) -> None:
        self._scopes[-1][name] = kind

    def type(self, ctype: str) -> str:
        return self.types.get(ctype, ctype)

    # --- arguments --------------------------------------------------------------------------------------------------
    def scalar(self, value: tree.Scalar) -> str:
        return scalar(value, self.int_text, self._float_field)

    def _float_field(self, name: str) -> str:
        self.floats.add(name)
        return name + "_"

    def _local(self, a: tree.Local) -> str:
        text = self._view(a)
        return text if a.offset.value == 0 else f"{text}[{self.int_text(a.offset)}]"

    def _view(self, a: tree.Local) -> str:
        if self._kind(a.name) is None:
            raise EmitError(f"the plan uses local tensor '{a.name}' outside the scope that made it")
        if a.ctype == a.declared:
            return a.name
        dependent = "template " if self.type(a.declared) != a.declared else ""
        return f"{a.name}.{dependent}ReinterpretCast<{self.type(a.ctype)}>()"

    def _global(self, a: tree.Global) -> str:
        if a.name not in self.gms:
            raise EmitError(f"the plan uses global tensor '{a.name}', which it does not declare")
        text = self.gms[a.name]
        return text if a.offset.value == 0 else f"{text}[{self.int_text(a.offset)}]"

    def _value(self, value: IntExpr | tree.Scalar, ctype: str) -> str:
        """A value converted to an element type."""
        if isinstance(value, IntExpr):
            text = self.int_text(value)
            return text if ctype == "int64_t" and value.value is None else f"static_cast<{self.type(ctype)}>({text})"
        text = self.scalar(value)
        return text if ctype == "float" else f"static_cast<{self.type(ctype)}>({text})"

    def _struct(self, a: tree.Struct) -> str:
        fields: list[str] = []
        for value, ctype in a.fields:
            if isinstance(value, bool):
                fields.append("true" if value else "false")
            elif isinstance(value, IntExpr) and ctype in _INTS and ctype != a.template:
                fields.append(self.int_text(value))
            else:
                fields.append(self._value(value, ctype))
        template = f"<{self.type(a.template)}>" if a.template else ""
        return f"AscendC::{a.type}{template}({', '.join(fields)})"

    def argument(self, a: tree.Arg, element: bool) -> str:
        """One argument; ``element`` when its type takes part in deducing the element type."""
        match a:
            case tree.Local():
                return self._local(a)
            case tree.Global():
                return self._global(a)
            case tree.Int():
                return self._value(a.value, a.ctype) if element else self.int_text(a.value)
            case tree.Float():
                return self._value(a.value, a.ctype)
            case tree.Enum():
                return a.text if a.text.startswith("AscendC::") else f"AscendC::{a.text}"
            case tree.Struct():
                return self._struct(a)

    # --- statements -------------------------------------------------------------------------------------------------
    def _body(self, nodes: Iterable[tree.Node]) -> str:
        return "\n".join(t for t in (self._node(n) for n in nodes) if t)

    def _scoped(self, nodes: Iterable[tree.Node], names: Mapping[str, str] | None = None) -> str:
        self._scopes.append(dict(names or {}))
        try:
            return self._body(nodes)
        finally:
            self._scopes.pop()

    def _node(self, node: tree.Node) -> str:
        match node:
            case tree.Call():
                return self._call(node)
            case tree.Comment():
                return f"// {node.text}"
            case tree.Loop():
                return _comment(node.comment) + self._loop(node)
            case tree.If():
                return self._if(node)
            case tree.Block():
                return self._block(node)
            case tree.Let() | tree.Var() | tree.Set() | tree.GetValue() | tree.SetValue():
                return self._integer_statement(node)
            case tree.Barrier():
                return "VectorBarrier();" if node.pipe == "V" else f"AscendC::PipeBarrier<PIPE_{node.pipe}>();"
            case tree.FlagPair():
                return f"Order<AscendC::HardEvent::{node.src}_{node.dst}>(pipe_);"
            case tree.SyncAll():
                return barrier(node)
            case tree.MatmulCall():
                args = ", ".join(self._matmul_argument(a) for a in node.args)
                method = f"template {node.method}<{', '.join(node.template)}>" if node.template else node.method
                return f"mm.{method}({args});"
            case tree.Alloc() | tree.DeQue() | tree.Get():
                return self._tensor(node)
            case tree.EnQue():
                return f"{self._queue(node.queue)}.EnQue({self._tensor_name(node.name)});"
            case tree.Free():
                return f"{self._queue(node.queue)}.FreeTensor({self._tensor_name(node.name)});"
            case tree.RunStage():
                raise EmitError("a stage cannot run inside another stage")

    def _matmul_argument(self, a: tree.Arg | bool | tree.Cond) -> str:
        if isinstance(a, bool):
            return "true" if a else "false"
        return condition(a, self.int_text) if isinstance(a, tree.Cond) else self.argument(a, False)

    def _queue(self, name: str) -> str:
        if name not in self.queues:
            raise EmitError(f"the plan uses buffer '{name}', which it does not declare")
        return self.queues[name]

    def _tensor_name(self, name: str) -> str:
        if self._kind(name) is None:
            raise EmitError(f"the plan uses local tensor '{name}' outside the scope that made it")
        return name

    def _call(self, node: tree.Call) -> str:
        position = SCALAR_POSITION.get(node.api)
        args = ", ".join(self.argument(a, k == position) for k, a in enumerate(node.args))
        template = f"<{', '.join(self.type(t) for t in node.template)}>" if node.template else ""
        return f"{_comment(node.comment)}AscendC::{node.api}{template}({args});"

    def _tensor(self, node: tree.Alloc | tree.DeQue | tree.Get) -> str:
        ctype = self.type(node.ctype)
        if isinstance(node, tree.Get):
            source = f"{self._queue(node.buffer)}.Get<{ctype}>()"
        elif isinstance(node, tree.Alloc):
            source = f"{self._queue(node.queue)}.AllocTensor<{ctype}>()"
        else:
            source = f"{self._queue(node.queue)}.DeQue<{ctype}>()"
        if isinstance(node, tree.DeQue) and self._kind(node.name) is not None:
            return f"{node.name} = {source};"
        self._declare(node.name, f"AscendC::LocalTensor<{ctype}>")
        return f"AscendC::LocalTensor<{ctype}> {node.name} = {source};"

    def _integer_statement(self, node: tree.Let | tree.Var | tree.Set | tree.GetValue | tree.SetValue) -> str:
        match node:
            case tree.Let():
                text = f"const int64_t {node.name} = {self.int_text(node.value)};"
                self._declare(node.name, "const int64_t")
            case tree.Var():
                text = f"int64_t {node.name} = {self.int_text(node.value)};"
                self._declare(node.name, "int64_t")
            case tree.Set():
                text = f"{self._name(node.name)} = {self.int_text(node.value)};"
            case tree.GetValue():
                text = f"const int64_t {node.name} = {self._view(node.source)}.GetValue({self.int_text(node.source.offset)});"
                self._declare(node.name, "const int64_t")
            case tree.SetValue():
                index, value = self.int_text(node.target.offset), self._value(node.value, node.target.ctype)
                text = f"{self._view(node.target)}.SetValue({index}, {value});"
        return text

    def _loop(self, node: tree.Loop) -> str:
        head = loop_head(node, self.int_text, self.int_text)
        return f"{head} {{\n{self._scoped(node.body, {node.var: 'const int64_t'})}\n}}"

    def _if(self, node: tree.If) -> str:
        test = " && ".join(condition(c, self.int_text) for c in node.conds)
        text = f"if ({test}) {{\n{self._scoped(node.then)}\n}}"
        return text + (f" else {{\n{self._scoped(node.orelse)}\n}}" if node.orelse else "")

    # --- blocks -----------------------------------------------------------------------------------------------------
    def _block(self, node: tree.Block) -> str:
        if len(node.body) < _INLINE_LIMIT:
            text = self._scoped(node.body)
            return _comment(node.title) + (f"{{\n{text}\n}}" if locals_of(node.body) else text)
        own = {n.name for n in node.body if isinstance(n, tree.Let | tree.Var | tree.GetValue | tree.Alloc | tree.Get)}
        free = [n for n in used_names(node.body) if self._kind(n) is not None and n not in own]
        kinds = {n: str(self._kind(n)) for n in free}
        outer = self._scopes
        self._scopes = [kinds, {}]
        start = len(self.methods)
        body = self._body(node.body)
        self._scopes = outer
        parameters = ", ".join(_parameter(kinds[n], n) for n in free)
        return f"{self._add_method(node.title, parameters, body, start)}({', '.join(free)});"

    def _add_method(self, title: str, parameters: str, body: str, at: int) -> str:
        """The name of a member function with this text; an equal one is used again."""
        base, k = method(title), 1
        taken = {m.name: m for m in self.methods} | dict.fromkeys(("Init", "Process"))
        name = base
        while name in taken:
            same = taken[name]
            if same is not None and (same.parameters, same.body) == (parameters, body):
                return name
            k += 1
            name = f"{base}{k}"
        self.methods.insert(at, Method(name, title, parameters, body))
        return name


def _parameter(kind: str, name: str) -> str:
    if kind == "const int64_t":
        return f"int64_t {name}"
    if kind == "int64_t":
        return f"int64_t &{name}"
    return f"{kind} &{name}"


def _comment(text: str | None) -> str:
    return "".join(f"// {line}\n" for line in text.splitlines()) if text else ""


def condition(c: tree.Cond, text: Callable[[IntExpr], str]) -> str:
    """``a op b`` in C++."""
    return f"{text(c.a)} {c.op} {text(c.b)}"


def loop_head(node: tree.Loop, start: Callable[[IntExpr], str], text: Callable[[IntExpr], str]) -> str:
    """``for (...)`` of a Loop; a constant negative step counts down."""
    step = node.step.value
    if step == 0:
        raise EmitError(f"the loop over '{node.var}' has step 0")
    test = ">" if step is not None and step < 0 else "<"
    if step in (1, -1):
        advance = f"{'++' if step == 1 else '--'}{node.var}"
    elif step is not None and step < 0:
        advance = f"{node.var} -= {-step}"
    else:
        advance = f"{node.var} += {text(node.step)}"
    return f"for (int64_t {node.var} = {start(node.start)}; {node.var} {test} {text(node.stop)}; {advance})"


def scalar(value: tree.Scalar, ints: Callable[[IntExpr], str], fields: Names) -> str:
    """A float32 scalar expression."""
    match value:
        case tree.FloatConst():
            return _float_literal(value.value)
        case tree.FloatField():
            return fields(value.name)
        case tree.FloatOfInt():
            return f"static_cast<float>({ints(value.value)})"
        case tree.FloatOp():
            return f"({scalar(value.a, ints, fields)} {value.op} {scalar(value.b, ints, fields)})"


def _float_bits(value: float) -> bytes:
    try:
        return struct.pack("<f", value)
    except OverflowError:
        return struct.pack("<f", math.copysign(math.inf, value))


def _float_literal(value: float) -> str:
    """The shortest literal that reads back as the same float32; infinities and NaN by their bits."""
    bits = _float_bits(value)
    single: float = struct.unpack("<f", bits)[0]
    if math.isinf(single) or math.isnan(single):
        return f"FloatFromBits(0x{struct.unpack('<I', bits)[0]:08X}U)"
    for digits in range(1, 10):
        text = f"{single:.{digits}g}"
        if _float_bits(float(text)) == bits:
            break
    return (text if any(ch in text for ch in ".e") else text + ".0") + "f"


def queue_type(buffer: tree.Buffer) -> str:
    """The C++ type of a UB buffer."""
    if buffer.kind == "calc":
        return "AscendC::TBuf<AscendC::TPosition::VECCALC>"
    return f"AscendC::TQue<AscendC::TPosition::{buffer.kind.upper()}, 1>"


def barrier(node: tree.SyncAll) -> str:
    """A barrier of the vector cores, or of all cores."""
    return "AscendC::SyncAll<false>();" if node.cube else "AscendC::SyncAll();"


def control(nodes: Iterable[tree.Node], run: Callable[[int], str], ints: Callable[[IntExpr], str]) -> str:
    """Kernel-level control of an alternative: stages, barriers of all cores, loops, conditions. ``run(k)`` is stage k's text."""
    lines: list[str] = []
    for node in nodes:
        match node:
            case tree.RunStage():
                lines.append(run(node.index))
            case tree.SyncAll():
                lines.append(barrier(node))
            case tree.Barrier():
                lines.append(f"AscendC::PipeBarrier<PIPE_{node.pipe}>();")
            case tree.Loop():
                lines.append(f"{_comment(node.comment)}{loop_head(node, ints, ints)} {{\n{control(node.body, run, ints)}\n}}")
            case tree.If():
                test = " && ".join(condition(c, ints) for c in node.conds)
                orelse = f" else {{\n{control(node.orelse, run, ints)}\n}}" if node.orelse else ""
                lines.append(f"if ({test}) {{\n{control(node.then, run, ints)}\n}}{orelse}")
            case tree.Block():
                lines.append(f"{_comment(node.title)}{control(node.body, run, ints)}")
            case tree.Let():
                lines.append(f"const int64_t {node.name} = {ints(node.value)};")
            case _:
                raise EmitError(f"{type(node).__name__} has no meaning outside a stage")
    return "\n".join(lines)
