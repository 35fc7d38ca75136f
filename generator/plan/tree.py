"""The KernelPlan: a typed tree of Ascend C operations, with everything the host needs to launch it.

``plan`` makes it, ``emit`` prints it, nothing else looks inside. A plan has one or more *alternatives* (full
load, chunked, one statement at a time, ...), each a complete kernel; the host picks the first that fits UB for
the shapes at hand. The number of the alternative is part of the tiling key, beside the dtype combination and the
set of optional parameters that are present.

Integers are :class:`~generator.spec.integer.IntExpr` whose symbols are tiling fields, locals declared by
:class:`Let`, or loop variables; the printer decides how each is spelled.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from generator.spec.integer import IntExpr

CType = Literal["float", "half", "bfloat16_t", "int32_t", "uint32_t", "int16_t", "uint16_t", "int64_t", "uint8_t", "int8_t"]
Pipe = Literal["S", "V", "MTE2", "MTE3"]


# --- scalars: evaluated on the scalar unit, in float ---------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FloatConst:
    """A float32 literal; inf and nan allowed (the printer knows how to spell them without std::)."""

    value: float


@dataclass(frozen=True, slots=True)
class FloatField:
    """A float attribute, carried in the tiling data under this name."""

    name: str


@dataclass(frozen=True, slots=True)
class FloatOfInt:
    """An integer converted to float on the scalar unit."""

    value: IntExpr


@dataclass(frozen=True, slots=True)
class FloatOp:
    """``+ - * /`` of two float scalars."""

    op: Literal["+", "-", "*", "/"]
    a: Scalar
    b: Scalar


Scalar = FloatConst | FloatField | FloatOfInt | FloatOp


# --- arguments of a call -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Local:
    """``name[offset]`` of a LocalTensor variable, offset in elements of ``ctype``; reinterpreted when the variable
    was declared with another type (``declared``)."""

    name: str
    offset: IntExpr
    ctype: CType
    declared: CType


@dataclass(frozen=True, slots=True)
class Global:
    """``name[offset]`` of a GlobalTensor member, offset in elements (64-bit)."""

    name: str
    offset: IntExpr


@dataclass(frozen=True, slots=True)
class Int:
    """An integer argument, cast to the C type the interface declares at that position."""

    value: IntExpr
    ctype: Literal["int32_t", "uint32_t", "uint8_t", "uint16_t", "uint64_t", "int64_t"] = "int32_t"


@dataclass(frozen=True, slots=True)
class Float:
    """A scalar argument converted to ``ctype`` (the element type of the call)."""

    value: Scalar
    ctype: CType = "float"


@dataclass(frozen=True, slots=True)
class Enum:
    """A qualified enumerator, e.g. ``AscendC::RoundMode::CAST_RINT``; the printer adds the namespace."""

    text: str


@dataclass(frozen=True, slots=True)
class Struct:
    """A parameter structure, ``AscendC::type<template>{fields...}``, each field cast to its declared C type."""

    type: str
    fields: tuple[tuple[IntExpr | Scalar | bool, str], ...]  # (value, C type of the field)
    template: CType | None = None


Arg = Local | Global | Int | Float | Enum | Struct


# --- statements ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Access:
    """What an instruction touches: a LocalTensor, seen as ``layout`` and indexed per dim (None: all of it). Two
    accesses of one tensor under one layout are disjoint when some dim's indices provably differ."""

    tensor: str
    layout: str
    index: tuple[IntExpr | None, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """``AscendC::api<template...>(args...);`` on ``pipe``. ``reads``/``writes`` serve dependence analysis only."""

    api: str
    args: tuple[Arg, ...]
    pipe: Pipe
    template: tuple[str, ...] = ()
    comment: str | None = None
    reads: tuple[Access, ...] = ()
    writes: tuple[Access, ...] = ()


@dataclass(frozen=True, slots=True)
class Barrier:
    """``PipeBarrier<PIPE_x>()``; a V barrier is printed under ``#if __NPU_ARCH__ != 3510``-style guard by the printer."""

    pipe: Literal["V", "MTE2", "MTE3", "ALL"]


@dataclass(frozen=True, slots=True)
class Alloc:
    """``LocalTensor<ctype> name = queue.AllocTensor<ctype>();``"""

    queue: str
    name: str
    ctype: CType


@dataclass(frozen=True, slots=True)
class EnQue:
    queue: str
    name: str


@dataclass(frozen=True, slots=True)
class DeQue:
    """``LocalTensor<ctype> name = queue.DeQue<ctype>();`` (assigns when ``name`` is already declared)."""

    queue: str
    name: str
    ctype: CType


@dataclass(frozen=True, slots=True)
class Free:
    queue: str
    name: str


@dataclass(frozen=True, slots=True)
class Get:
    """``LocalTensor<ctype> name = buffer.Get<ctype>();`` of a TBuf."""

    buffer: str
    name: str
    ctype: CType


@dataclass(frozen=True, slots=True)
class FlagPair:
    """SetFlag then WaitFlag of one event, e.g. ``("V", "S")``: an ordering edge between two pipes."""

    src: Pipe
    dst: Pipe


@dataclass(frozen=True, slots=True)
class SetValue:
    """``local.SetValue(index, value);`` on the scalar unit."""

    target: Local
    value: IntExpr | Scalar


@dataclass(frozen=True, slots=True)
class GetValue:
    """``const int64_t name = local.GetValue(0);`` (integer tensors: data-dependent indices)."""

    name: str
    source: Local


@dataclass(frozen=True, slots=True)
class SyncAll:
    """A barrier of all vector cores of the launch (hard version); with ``cube`` of all cube cores too."""

    cube: bool = False


@dataclass(frozen=True, slots=True)
class MatmulCall:
    """``mm.method<template...>(args...);`` of the stage's Matmul object (matmul.md, section 3)."""

    method: str
    args: tuple[Arg | bool | Cond, ...]
    template: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Let:
    """``const int64_t name = value;``"""

    name: str
    value: IntExpr


@dataclass(frozen=True, slots=True)
class Var:
    """``int64_t name = value;`` a mutable local; assigned again by :class:`Set`."""

    name: str
    value: IntExpr


@dataclass(frozen=True, slots=True)
class Set:
    name: str
    value: IntExpr


@dataclass(frozen=True, slots=True)
class Loop:
    """``for (int64_t var = start; var < stop (or > for a negative step); var += step)``"""

    var: str
    start: IntExpr
    stop: IntExpr
    step: IntExpr
    body: tuple[Node, ...]
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class Cond:
    """Integer comparison ``a op b``."""

    op: Literal["<", "<=", ">", ">=", "==", "!="]
    a: IntExpr
    b: IntExpr


@dataclass(frozen=True, slots=True)
class If:
    """All ``conds`` hold."""

    conds: tuple[Cond, ...]
    then: tuple[Node, ...]
    orelse: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True)
class Block:
    """A C++ scope; names declared inside end with it. ``title`` becomes a comment or a member function's name."""

    body: tuple[Node, ...]
    title: str


@dataclass(frozen=True, slots=True)
class Comment:
    """A line for the reader: the formula statement that what follows computes."""

    text: str


@dataclass(frozen=True, slots=True)
class RunStage:
    """Run stage ``index`` of the alternative, passing the values of its ``args`` (kernel-level loop variables)."""

    index: int


Node = (
    RunStage | MatmulCall | Comment | Call | Barrier | Alloc | EnQue | DeQue | Free | Get | FlagPair | SetValue | GetValue | SyncAll
    | Let | Var | Set | Loop | If | Block
)


# --- buffers and tiling ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Buffer:
    """One UB buffer. ``bytes`` is one copy's length (a multiple of 32 by construction); a queue has ``copies``."""

    name: str
    kind: Literal["vecin", "vecout", "calc"]
    bytes: IntExpr
    copies: int = 1
    holds: str = ""  # for explain: what lives here


@dataclass(frozen=True, slots=True)
class TileParam:
    """A tile size the host maximises under the ledger: the largest multiple of ``align`` with ledger <= UB, up to the
    first that covers ``upper`` and no more than covers ``balance`` (the share of one core). ``required``: the
    alternative does not fit when ``upper`` is not covered. ``whole``: what the tiles divide, so that every core has as many."""

    name: str
    upper: IntExpr
    align: int = 1
    balance: IntExpr | None = None
    required: bool = False
    whole: IntExpr | None = None


@dataclass(frozen=True, slots=True)
class GmTensor:
    """A kernel parameter (or a workspace tensor) as a GlobalTensor member. ``elements`` bounds it."""

    name: str
    ctype: CType
    elements: IntExpr
    param: str | None = None  # formula symbol; None for workspace
    workspace_offset: IntExpr | None = None  # bytes, multiple of 512


@dataclass(frozen=True, slots=True)
class Matmul:
    """The Matmul object of a cube stage: element types, which operands are stored transposed, and the prefix of the
    ``TCubeTiling`` it is made from and of the fields that one is filled from (``<prefix>BaseM``, ...; see :data:`CUBE_FIELDS`)."""

    a: CType
    b: CType
    c: CType
    transpose_a: bool
    transpose_b: bool
    prefix: str


CUBE_FIELDS = ("Cores", "M", "N", "Ka", "Kb", "SingleK", "BaseM", "BaseN", "BaseK", "StepK", "L1")
"""Suffixes of the tiling fields a ``TCubeTiling`` is filled from; every other field is a constant."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One pass over its tiles: its own TPipe (made in the scope that runs the stage), buffers and tile sizes.

    ``args`` are names of kernel-level loop variables the body reads. ``body`` reads ``blockIdx`` (this vector core),
    tiling fields, and its own locals.
    """

    name: str
    title: str
    args: tuple[str, ...]
    buffers: tuple[Buffer, ...]
    tiles: tuple[TileParam, ...]
    body: tuple[Node, ...]
    reserve_select: bool = False  # Select and friends: leave the reserved 8 KB of UB free
    matmul: Matmul | None = None  # a cube stage: runs on the cube cores, ``blockIdx`` is the cube core


@dataclass(frozen=True, slots=True)
class Alternative:
    """One complete kernel for one dtype combination and one presence set.

    The host, in order: checks ``applies``; for each stage maximises its ``tiles`` in order (later tiles at their ``align`` meanwhile)
    under the stage's ledger; computes ``fields`` (int64 tiling fields from dims, int attributes, tile parameters,
    ``coreNum``, ``cubeNum`` and earlier fields), ``block_dim`` and ``workspace``. When a stage's ledger does not fit with all tiles at
    their smallest, the next alternative is tried. ``body`` holds kernel-level control only: RunStage, SyncAll, Loop.
    """

    name: str  # "full", "walked", "stepwise", "cube", ...
    gm: tuple[GmTensor, ...]
    stages: tuple[Stage, ...]
    fields: tuple[tuple[str, IntExpr], ...]
    applies: tuple[Cond, ...]
    block_dim: IntExpr  # vector cores, or cube cores where the operator has cube stages
    workspace: IntExpr  # user bytes, 0 when none
    syncs: bool  # uses SyncAll
    body: tuple[Node, ...]
    notes: tuple[str, ...] = ()  # for explain: why this shape

    @property
    def mixed(self) -> bool:
        """Some stage runs on the cube cores."""
        return any(s.matmul is not None for s in self.stages)


@dataclass(frozen=True, slots=True)
class Kernel:
    """The alternatives for one dtype combination and one set of present optional parameters, in order of choice."""

    combination: int
    dtypes: tuple[tuple[str, str], ...]  # formula symbol -> dtype name, every tensor parameter
    present: tuple[str, ...]  # optional symbols that are given
    alternatives: tuple[Alternative, ...]


@dataclass(frozen=True, slots=True)
class KernelPlan:
    """Everything ``emit`` needs to print op_kernel/ and the tiling of op_host/.

    ``inputs``/``outputs`` are formula symbols in the kernel entry's argument order; ``int_fields`` are dims and int
    attributes the kernels use (int64 in tiling data), ``float_fields`` float attributes (float in tiling data).
    """

    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    optional: tuple[str, ...]
    dims: tuple[str, ...]
    int_fields: tuple[str, ...]
    float_fields: tuple[str, ...]
    kernels: tuple[Kernel, ...]
    notes: tuple[str, ...] = field(default=())

    @property
    def mixed(self) -> bool:
        """Some alternative has cube stages: every launch has two vector cores a cube core."""
        return any(a.mixed for k in self.kernels for a in k.alternatives)
