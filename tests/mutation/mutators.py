"""Every mutant of a kernel header: one kind of fault planted at one place, as insertions around pieces of its text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.mutation.source import Source, Span

__all__ = ["KINDS", "Edit", "Mutant", "mutants"]

_STRUCTS = {
    "DataCopyExtParams": ("blockCount", "blockLen", "srcStride", "dstStride", "rsv"),
    "DataCopyParams": ("blockCount", "blockLen", "srcStride", "dstStride"),
    "BinaryRepeatParams": ("dstBlkStride", "src0BlkStride", "src1BlkStride", "dstRepStride", "src0RepStride", "src1RepStride"),
    "UnaryRepeatParams": ("dstBlkStride", "srcBlkStride", "dstRepStride", "srcRepStride"),
    "BrcbRepeatParams": ("dstBlkStride", "dstRepStride"),
}
_NOT_INSTRUCTIONS = (*_STRUCTS, "DataCopyPadExtParams", "GetBlockIdx", "GetBlockNum", "PipeBarrier", "SetFlag", "WaitFlag")
_BLOCK = 8  # elements; a whole block of the widest type, so that alignment does not give the fault away


@dataclass(frozen=True, slots=True)
class Edit:
    """Text put before and after a span; ``@`` stands for the mutant's number."""

    span: Span
    before: str
    after: str = ""


@dataclass(frozen=True, slots=True)
class Mutant:
    """``line`` and ``text`` say where, ``statement`` is all of what stands there; ``change`` is what is done."""

    kind: str
    file: str
    line: int
    statement: str
    text: str
    change: str
    edits: tuple[Edit, ...]

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.kind}: {self.text} -> {self.change}  in  {self.statement}"


def _make(source: Source, kind: str, span: Span, change: str, *edits: Edit) -> Mutant:
    return Mutant(kind, source.name, source.line(span.start), source.statement(span), source.words(span), change, edits)


def _plus(source: Source, kind: str, span: Span, *deltas: int, context: str = "") -> Iterator[Mutant]:
    for delta in deltas:
        m = _make(source, kind, span, f"{delta:+d}{context}", Edit(span, "mutation::Plus(@, ", f", {delta})"))
        yield m


def _without(source: Source, kind: str, span: Span) -> Mutant:
    """The statement at ``span`` left out."""
    return _make(source, kind, span, "removed", Edit(span, "if (!mutation::Is(@)) "))


def barriers(source: Source) -> Iterator[Mutant]:
    """One barrier of a pipe, or one flag and its wait, or one global synchronisation, left out."""
    for m in source.statements(r"(?:VectorBarrier|Order<[^;]*?>|(?:AscendC::)?PipeBarrier<\w+>|(?:AscendC::)?SyncAll(?:<\w+>)?)\([^;]*\)"):
        yield _without(source, "barrier", Span(m.start(), m.end()))


def queues(source: Source) -> Iterator[Mutant]:
    """Steps of a buffer's way through its queue left out, one by one and in pairs, or done twice."""
    for put in source.statements(r"(\w+)\.EnQue\((\w+)\)"):
        queue, name = put[1], put[2]
        take = re.compile(rf"(?<![\w.]){name} = {queue}\.DeQue<\w+>\(\)\s*;").search(source.bare, put.end())
        first = Span(put.start(), put.end())
        yield _without(source, "EnQue", first)
        if take is not None:
            second = Span(take.start(), take.end())
            guards = [Edit(span, "if (!mutation::Is(@)) ") for span in (first, second)]
            yield _make(source, "EnQue/DeQue pair", first, "removed with its DeQue", *guards)
            yield _without(source, "DeQue", second)
    for m in source.statements(r"\w+\.FreeTensor\(\w+\)"):
        span = Span(m.start(), m.end())
        yield _without(source, "FreeTensor", span)
        yield _make(source, "FreeTensor", span, "done twice", Edit(span, "", f" if (mutation::Is(@)) {m[0]}"))


def buffers(source: Source) -> Iterator[Mutant]:
    """A buffer one block too small; a global tensor one element too short."""
    for m in re.finditer(r"\bInitBuffer\(", source.bare):
        yield from _plus(source, "buffer", source.split(m.end() - 1)[-1], -32)
    for m in re.finditer(r"\bSetGlobalBuffer\(", source.bare):
        yield from _plus(source, "extent", source.split(m.end() - 1)[-1], -1)


def loops(source: Source) -> Iterator[Mutant]:
    """A loop that begins, ends or steps one off."""
    for loop in source.loops():
        yield from _plus(source, "loop", loop.first, 1)
        yield from _plus(source, "loop", loop.bound, 1, -1)
        m = re.search(r"\+=\s*", source[loop.step])
        if m is not None:
            yield from _plus(source, "loop", Span(loop.step.start + m.end(), loop.step.end), 1, -1, context=" a step")
        elif source[loop.step].startswith("++"):
            name = source[loop.step][2:]
            yield _make(source, "loop", loop.step, "twice", Edit(loop.step, "", f", {name} += mutation::Plus(@, 0, 1)"))


def definitions(source: Source) -> Iterator[Mutant]:
    """A size, a pitch or a start that is one off wherever it is used."""
    for m in re.finditer(r"(?:const int64_t |^[ ]+)(\w+) = ([^;{}]+);", source.bare, re.MULTILINE):
        if m[1] in source.floats or m[1] in source.tensors or "Queue_" in m[2]:
            continue
        yield from _plus(source, "definition", Span(m.start(2), m.end(2)), 1, -1, context=f" ({m[1]})")


def conditions(source: Source) -> Iterator[Mutant]:
    """A branch taken one too early or too late."""
    for m in re.finditer(r"\bif \(", source.bare):
        at, end = m.end(), source.close(m.end() - 1)
        for clause in source.bare[at:end].split("&&"):
            sides = re.search(r"[<>]=?|==", clause)
            if sides is not None:
                yield from _plus(source, "condition", source.trim(Span(at + sides.end(), at + len(clause))), 1, -1)
            at += len(clause) + len("&&")


def calls(source: Source) -> Iterator[Mutant]:
    """An instruction left out, or an operand, a count, a field or a mode of it one off. Arguments are numbered from 0."""
    for call in source.calls():
        if not call.statement or call.name in _NOT_INSTRUCTIONS:
            continue
        yield _without(source, "dropped call", Span(call.whole.start, source.bare.index(";", call.whole.end) + 1))
        for position, argument in enumerate(call.arguments):
            yield from _argument(source, argument, f" ({call.name} {position})")


def _argument(source: Source, argument: Span, note: str) -> Iterator[Mutant]:
    text = source[argument]
    operand = source.subscript(argument)
    inner = next(source.calls(argument), None)
    if operand is not None:
        if operand[1] is None:
            yield _make(source, "offset", argument, f"[{_BLOCK}]{note}", Edit(argument, "", f"[mutation::Plus(@, 0, {_BLOCK})]"))
        else:
            yield from _plus(source, "offset", operand[1], 1, -1, _BLOCK, context=note)
    elif inner is not None and inner.whole == argument and inner.name in _STRUCTS:
        for name, field in zip(_STRUCTS[inner.name], inner.arguments, strict=True):
            yield from _plus(source, "field", field, 1, -1, context=f" ({name})")
    elif text.startswith("AscendC::RoundMode::"):
        yield from _modes(source, argument, text)
    elif text.startswith("AscendC::") or text in ("true", "false"):
        return
    elif _is_scalar(source, text):
        yield from _plus(source, "scalar", argument, 1, context=note)
    else:
        yield from _plus(source, "count", argument, 1, -1, context=note)
        for m in re.finditer(r"\bMinOf\((\d+),", text):
            limit = Span(argument.start + m.start(1), argument.start + m.end(1))
            yield from _plus(source, "limit", limit, 1, -1, context=note)


def _is_scalar(source: Source, text: str) -> bool:
    """A value that is computed with, not a count: a float, or an integer operand (which is cast to its type)."""
    if text in source.floats or text.startswith("static_cast<"):
        return True
    return re.search(r"\d\.\d*f|static_cast<float>|FloatFromBits", text) is not None


def _modes(source: Source, span: Span, text: str) -> Iterator[Mutant]:
    for other in ("CAST_FLOOR", "CAST_CEIL", "CAST_TRUNC", "CAST_NONE", "CAST_RINT"):
        mode = f"AscendC::RoundMode::{other}"
        if mode != text:
            yield _make(source, "round mode", span, other, Edit(span, f"(mutation::Is(@) ? {mode} : ", ")"))


KINDS: tuple[Callable[[Source], Iterator[Mutant]], ...] = (barriers, queues, buffers, loops, definitions, conditions, calls)


def mutants(source: Source) -> list[Mutant]:
    """Every mutant of a header, in the order of the text."""
    found = [m for kind in KINDS for m in kind(source)]
    return sorted(found, key=lambda m: (m.edits[0].span, m.kind, m.change))
