"""Algebra on sums of products, and the choice of what the cube computes.

Factors that do not move along a reduced axis leave the sum; a sum over a sum is exchanged where that shares a product
already computed; equal products are computed once. What is left is weighed: a product goes to the cube when its vector
time exceeds its cube time plus the bytes it moves beside (``cost``). Factors are made to agree in type: a float32
factor beside a bfloat16 tensor is split into three bfloat16 terms, which hold all its bits, so that the tensor is read
as it is; otherwise the 16-bit factor is converted to float32 in workspace.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Final

from generator.formula.ir import Binary, Bound, Cast, Compare, Expr, Load, Num, Tensor, Where
from generator.formula.walk import loads, rebuild, symbols
from generator.plan.axes import flat, rename_expr
from generator.plan.bounds import Bounds
from generator.plan.contract import Contraction, contraction, element_offset, factors
from generator.plan.cost import NEAR, Near, Work, prefers_cube, work_of
from generator.plan.cube import ZEROS, zeros_needed
from generator.plan.normal import Map, NFor, Normal, NStmt, Red, extent_of
from generator.spec.integer import IntExpr, const, product, sym

__all__ = ["Products", "simplified", "with_products"]

NEVER: Final = const(0)  # float32 operands are taken as they are
OBJECTS: Final = 4  # Matmul objects of one kernel (matmul.md, 2)
PARTS: Final = 3  # bfloat16 terms that hold a float32 significand: 3 x 8 bits


@dataclass(frozen=True)
class Products:
    """A normal form with its cube products. ``dtypes``: of tensors the rewriting added; ``zeros``: per product that may
    meet no valid pair, the tensor of zeros in its operands' type; ``work`` per product for the host's choice."""

    normal: Normal
    dtypes: Mapping[str, str]
    zeros: Mapping[str, str]
    work: tuple[Work, ...]
    notes: tuple[str, ...]
    near: tuple[Near, ...] = ()  # short sums left to the stage that uses them


# --- algebra that serves vector and cube plans alike -----------------------------------------------------------------------


def simplified(normal: Normal) -> Normal:
    """Factors out of sums, sums exchanged where that shares a product, equal products once, unused locals dropped."""
    body = list(_pulled(normal.body, normal.tensors))
    body = _exchanged(body)
    body = _shared(body, normal.tensors)
    return replace(normal, body=_needed(body, normal.tensors))


def _product(parts: Sequence[Expr]) -> Expr:
    out = parts[0]
    for p in parts[1:]:
        out = Binary("mul", out, p)
    return out


def _fresh(hint: str, axes: Sequence[Bound], tensors: dict[str, Tensor]) -> str:
    name, k = hint, 0
    while name in tensors:
        k += 1
        name = f"{hint}{k}"
    tensors[name] = Tensor(name, tuple(extent_of(b) for b in axes), "local")
    return name


def _plain(axes: Iterable[Bound]) -> tuple[IntExpr, ...]:
    return tuple(sym(b.name) for b in axes)


def _pulled(body: Sequence[NStmt], tensors: dict[str, Tensor]) -> Iterator[NStmt]:
    """Sums of products with the factors that do not move along a reduced axis outside."""
    for s in body:
        if isinstance(s, NFor):
            yield replace(s, body=tuple(_pulled(s.body, tensors)))
            continue
        if not isinstance(s, Red) or s.op != "sum":
            yield s
            continue
        parts, over = factors(s.value), {b.name for b in s.reduced}
        inside = [p for p in parts if symbols(p) & over]
        outside = [p for p in parts if not symbols(p) & over]
        if not inside or not outside:
            yield s
            continue
        used = set().union(*(symbols(p) for p in inside))
        axes = tuple(b for b in s.axes if b.name in used)
        inner = _fresh(f"{s.target}_sum", axes, tensors)
        yield replace(s, target=inner, index=_plain(axes), axes=axes, value=_product(inside))
        yield Map(s.target, s.index, s.axes, _product([Load(inner, _plain(axes)), *outside]), s.span, s.origin)


def _exchanged(body: Sequence[NStmt]) -> list[NStmt]:
    """``sum[t](x * sum[k](d * p))`` becomes ``sum[k](p * sum[t](d * x))`` where ``sum[t](d * x)`` is computed anyway."""
    made: dict[str, Red] = {s.target: s for s in body if isinstance(s, Red)}
    writes = [s.target for s in flat(body)]
    known = [s for s in body if isinstance(s, Red) and s.op == "sum" and writes.count(s.target) == 1]
    out: list[NStmt] = []
    for k, s in enumerate(body):
        new = _exchange(s, made, known) if isinstance(s, Red) and s.op == "sum" else None
        out.append(new if new is not None and _ready(new, body, k) else s)
    return out


def _ready(new: Red, body: Sequence[NStmt], at: int) -> bool:
    """What ``new`` reads is written before position ``at``."""
    before = {s.target for s in flat(body[:at])}
    written = {s.target for s in flat(body)}
    return all(ld.tensor not in written or ld.tensor in before for ld in loads(new.value))


def _exchange(s: Red, made: Mapping[str, Red], known: Sequence[Red]) -> Red | None:
    parts = factors(s.value)
    over = {b.name for b in s.reduced}
    for p in parts:
        inner = made.get(p.tensor) if isinstance(p, Load) else None
        if inner is None or inner.op != "sum" or not isinstance(p, Load):
            continue
        names = {a.name: i for a, i in zip(inner.axes, p.indices, strict=True) if isinstance(i, IntExpr)}
        if len(names) != len(inner.axes) or inner.index != _plain(inner.axes) or p.guarded:
            continue
        if {b.name for b in inner.reduced} & ({b.name for b in s.axes} | over):
            continue
        rest = [rename_expr(f, names) for f in factors(inner.value)]
        moving = [f for f in rest if symbols(f) & over]
        still = [f for f in rest if not symbols(f) & over]
        others = [q for q in parts if q is not p]
        wanted = sorted([*moving, *others], key=repr)
        for other in known:
            if other is s or {b.name for b in other.reduced} != over or sorted(factors(other.value), key=repr) != wanted:
                continue
            extents = {b.name: extent_of(b) for b in (*s.axes, *inner.reduced)}
            if any(extents.get(b.name) != extent_of(b) for b in other.axes):
                continue
            return replace(s, reduced=inner.reduced, value=_product([Load(other.target, other.index), *still]))
    return None


def _shared(body: Sequence[NStmt], tensors: Mapping[str, Tensor]) -> list[NStmt]:
    """Equal sums of equal values once; values of tensors written once only."""
    writes: dict[str, int] = {}
    for w in flat(body):
        writes[w.target] = writes.get(w.target, 0) + 1
    known: dict[object, Red] = {}
    names: dict[str, str] = {}
    out: list[NStmt] = []
    for s in (_renamed_loads(b, names) for b in body):
        alone = isinstance(s, Red) and s.index == _plain(s.axes) and tensors[s.target].role == "local" and writes[s.target] == 1
        if isinstance(s, Red) and alone and all(writes.get(ld.tensor, 0) <= 1 for ld in loads(s.value)):
            key = (s.op, s.axes, s.reduced, s.value)
            if key in known:
                names[s.target] = known[key].target
                continue
            known[key] = s
        out.append(s)
    return out


def _renamed_loads(s: NStmt, names: Mapping[str, str]) -> NStmt:
    if not names:
        return s
    if isinstance(s, NFor):
        return replace(s, body=tuple(_renamed_loads(c, names) for c in s.body))

    def expr(e: Expr) -> Expr:
        if isinstance(e, Load) and e.tensor in names:
            e = replace(e, tensor=names[e.tensor])
        return rebuild(e, expr)

    return replace(s, value=expr(s.value))


def _needed(body: Sequence[NStmt], tensors: Mapping[str, Tensor]) -> tuple[NStmt, ...]:
    """Without statements for locals that nothing reads."""
    read = {ld.tensor for s in flat(body) for ld in loads(s.value)}
    kept = tuple(s for s in body if isinstance(s, NFor) or tensors[s.target].role != "local" or s.target in read)
    return kept if len(kept) == len(body) else _needed(kept, tensors)


# --- products for the cube ---------------------------------------------------------------------------------------------------


@dataclass
class _Builder:
    normal: Normal
    dtypes: dict[str, str]  # of every tensor with one; locals are float32
    typical: Mapping[str, int]
    hf32: IntExpr  # 1 where float32 operands are taken in HF32
    bounds: Bounds | None = None  # given: short sums stay with the stage that uses them
    near: list[Near] = field(default_factory=list)
    tensors: dict[str, Tensor] = field(default_factory=dict)
    added: dict[str, str] = field(default_factory=dict)
    zeros: dict[str, str] = field(default_factory=dict)
    fills: dict[str, Map] = field(default_factory=dict)
    work: list[Work] = field(default_factory=list)
    served: list[str] = field(default_factory=list)  # the sums that ``work`` is of
    notes: list[str] = field(default_factory=list)
    barred: frozenset[str] = frozenset()  # sums that stay on the vector unit

    def run(self) -> Products | None:
        self.tensors = dict(self.normal.tensors)
        out: list[NStmt] = []
        for s in self.normal.body:
            done = self.statement(s) if isinstance(s, Red) and s.op == "sum" else None
            if done is None:
                out.append(s)
                continue
            made, rest = done
            at = _earliest(out, {ld.tensor for m in flat(made) for ld in loads(m.value)})
            out = [*out[:at], *made, *out[at:], *rest]
        if not self.work:
            return None
        out = self.direct([*self.fills.values(), *out])
        normal = replace(self.normal, body=tuple(out), tensors=self.tensors)
        return Products(normal, self.added, self.zeros, tuple(self.work), tuple(self.notes), tuple(self.near))

    def dtype(self, tensor: str) -> str:
        return self.added.get(tensor) or self.dtypes.get(tensor, "float32")

    def statement(self, s: Red) -> tuple[list[NStmt], list[NStmt]] | None:
        """``s`` as statements that make its factors and statements with a cube product, or None."""
        saved = (dict(self.tensors), dict(self.added))
        pair = self.best_pair(s)
        if pair is None:
            return None
        made, left, right, narrow = pair
        done = self.product(s, made, left, right, narrow)
        if done is None:
            self.tensors, self.added = saved
        return None if done is None else (made, done)

    def stays(self, s: Red) -> bool:
        """Every use of the sum is at the element it is made for, beside equal axes, and the sum is proved short: one stage can
        compute it and use it."""
        if self.bounds is None or len(factors(s.value)) != 2 or s.index != _plain(s.axes):
            return False
        most = self.bounds.upper(product(extent_of(b) for b in s.reduced))
        if most is None or most > NEAR or self.normal.tensors[s.target].role != "local":
            return False
        body = list(flat(self.normal.body))
        uses = [(u, ld) for u in body for ld in loads(u.value) if ld.tensor == s.target]
        axes = {b.name for b in s.axes}
        if not uses or sum(u.target == s.target for u in body) != 1:
            return False
        if not all(isinstance(u, Map) and ld.indices == s.index and {b.name for b in u.axes} == axes for u, ld in uses):
            return False
        self.near.append(Near(_elements(s) * product(extent_of(b) for b in s.reduced), _elements(s)))
        self.notes.append(f"{s.target}: on the vector unit, in the stage that uses it")
        return True

    def best_pair(self, s: Red) -> tuple[list[NStmt], Load, Load, bool] | None:
        """The two factors of the product: groups of the sum's factors, the fewest elements made."""
        parts = factors(s.value)
        if len(parts) < 2 or len(parts) > 4 or any(loads_gather(p) for p in parts):
            return None
        choices: list[tuple[int, int, list[Expr], list[Expr]]] = []
        for n in range(1, len(parts)):
            for chosen in combinations(range(len(parts)), n):
                if 0 not in chosen:
                    continue
                a = [parts[k] for k in chosen]
                b = [p for k, p in enumerate(parts) if k not in chosen]
                if self.covers(s, a, b):
                    choices.append((self.made(s, a) + self.made(s, b), len(choices), a, b))
        if not choices:
            return None
        _, _, a, b = min(choices, key=lambda c: c[:2])
        return self.operands(s, a, b)

    @staticmethod
    def covers(s: Red, a: Sequence[Expr], b: Sequence[Expr]) -> bool:
        in_a, in_b = (set().union(*(symbols(p) for p in x)) for x in (a, b))
        return all(r.name in in_a and r.name in in_b for r in s.reduced)

    def made(self, s: Red, parts: Sequence[Expr]) -> int:
        """Elements of the workspace tensor that ``parts`` need to be one factor; 0 for a tensor as it is."""
        if len(parts) == 1 and isinstance(parts[0], Load):
            return 0
        used = set().union(*(symbols(p) for p in parts))
        return product(extent_of(b) for b in (*s.axes, *s.reduced) if b.name in used).evaluate(self.typical)

    def operands(self, s: Red, a: Sequence[Expr], b: Sequence[Expr]) -> tuple[list[NStmt], Load, Load, bool]:
        """(statements that make factors, left, right, whether a factor is split)."""
        made: list[NStmt] = []
        direct = [p[0] if len(p) == 1 and isinstance(p[0], Load) else None for p in (a, b)]
        types = [self.dtype(d.tensor) if d is not None else "float32" for d in direct]
        split = sorted(types) == ["bfloat16", "float32"]
        out: list[Load] = []
        for k, parts in enumerate((a, b)):
            d, agree = direct[k], types[0] == types[1]
            if split and types[k] == "float32":
                out.append(self.split(s, parts, made))
            elif d is not None and (agree or split or types[k] == "float32"):
                out.append(d)
            else:
                out.append(self.whole(s, parts, made))
        return made, out[0], out[1], split

    def layout(self, s: Red, parts: Sequence[Expr]) -> tuple[Bound, ...]:
        """Axes of a factor to be made, in the order of the widest load in it."""
        axes = {b.name: b for b in (*s.axes, *s.reduced)}
        used = {n for p in parts for n in symbols(p)} & axes.keys()
        order: list[str] = []
        for ld in sorted((ld for p in parts for ld in loads(p)), key=lambda x: -len(symbols(x) & used)):
            offset = element_offset(ld.indices, self.tensors[ld.tensor])
            mine = [n for n in symbols(ld) & used if n not in order]
            order += sorted(mine, key=lambda n: -offset.coefficient(n).evaluate(self.typical))
        return tuple(axes[n] for n in dict.fromkeys([*order, *sorted(used)]))

    def whole(self, s: Red, parts: Sequence[Expr], made: list[NStmt]) -> Load:
        """A factor computed in float32 into workspace."""
        axes = self.layout(s, parts)
        name = _fresh(f"{s.target}_factor", axes, self.tensors)
        made.append(Map(name, _plain(axes), axes, _product(parts), s.span, s.origin))
        self.notes.append(f"{name}: a factor of {s.target}, made in float32 in workspace")
        return Load(name, _plain(axes))

    def split(self, s: Red, parts: Sequence[Expr], made: list[NStmt]) -> Load:
        """A float32 factor as the sum of three bfloat16 terms, along an axis outside its first free axis."""
        axes = self.layout(s, parts)
        over = {b.name for b in s.reduced}
        at = next((k for k, b in enumerate(axes) if b.name not in over), len(axes))
        part = Bound(f"{s.target}_term", const(PARTS))
        whole = (*axes[:at], part, *axes[at:])
        name = _fresh(f"{s.target}_terms", whole, self.tensors)
        self.added[name] = "bfloat16"
        rest: Expr = _product(parts)
        for k in range(PARTS):
            index = tuple(const(k) if b is part else sym(b.name) for b in whole)
            made.append(Map(name, index, axes, rest, s.span, s.origin))
            rest = Binary("sub", rest, Cast("bfloat16", rest))
        self.notes.append(f"{name}: a float32 factor of {s.target} as three bfloat16 terms, so that the other one is read as it is")
        return Load(name, _plain(whole))

    def product(self, s: Red, made: list[NStmt], left: Load, right: Load, narrow: bool) -> list[NStmt] | None:
        """The statements of a chosen product; None when it is none or the vector unit serves it better."""
        axes, part = s.axes, Bound(f"{s.target}_term", const(PARTS))
        if narrow:
            split = left if symbols(left) & {part.name} else right
            place = [b.name for b in axes if b.name in symbols(split)]
            at = next((k for k, b in enumerate(axes) if b.name in place), len(axes))
            axes = (*axes[:at], part, *axes[at:])
        name = _fresh(f"{s.target}_product", axes, self.tensors)
        red = replace(s, target=name, index=_plain(axes), axes=axes, value=Binary("mul", left, right), cube=True)
        c = contraction(red, self.tensors)
        if isinstance(c, str):
            self.notes.append(f"{s.target}: on the vector unit: {c}")
            return None
        width = _width(self.dtype(left.tensor))
        made_bytes = const(0)
        for m in flat(made):
            made_bytes = made_bytes + _elements(m) * (2 if m.target in self.added else 4)
        work = work_of(s, c, width, made_bytes, self.hf32)
        if not prefers_cube(work, self.typical):
            self.notes.append(f"{s.target}: on the vector unit: {work.reason(self.typical)}")
            return None
        if s.target in self.barred:
            self.notes.append(f"{s.target}: on the vector unit: a kernel has {OBJECTS} products on the cube, the others save more")
            return None
        if self.stays(s):
            return None
        self.work.append(work)
        self.served.append(s.target)
        self.notes.append(f"{s.target}: on the cube: {work.reason(self.typical)}")
        if zeros_needed(c):
            self.zeros[name] = self.zero_tensor(self.dtype(left.tensor))
        if narrow:
            whole = _of_terms([Load(name, tuple(const(k) if b == part else sym(b.name) for b in axes)) for k in range(PARTS)])
        else:
            whole = Load(name, _plain(axes))
        return [red, Map(s.target, s.index, s.axes, whole, s.span, s.origin)]

    def zero_tensor(self, dtype: str) -> str:
        for name, fill in self.fills.items():
            if self.added[name] == dtype:
                return fill.target
        axis = (Bound(f"{dtype}_zero_at", const(ZEROS[_width(dtype)])),)
        name = _fresh("zeros", axis, self.tensors)
        self.added[name] = dtype
        self.fills[name] = Map(name, _plain(axis), axis, Num(0.0))
        return name

    def direct(self, body: list[NStmt]) -> list[NStmt]:
        """Products whose only use is a plain copy take the copy's target."""
        reads = [ld.tensor for s in flat(body) for ld in loads(s.value)]
        writes = [s.target for s in flat(body)]
        out = list(body)
        for s in [s for s in body if isinstance(s, Red) and s.cube]:
            copy = next((m for m in out if isinstance(m, Map) and isinstance(m.value, Load) and m.value.tensor == s.target), None)
            if copy is None or reads.count(s.target) != 1 or writes.count(copy.target) != 1:
                continue
            assert isinstance(copy.value, Load)
            allowed = ("float32", self.dtype(next(loads(s.value)).tensor))
            if copy.value.guarded or not _bijective(copy) or self.dtype(copy.target) not in allowed:
                continue
            pairs = zip(copy.value.indices, s.index, strict=True)
            names = {a.symbol: b for a, b in pairs if isinstance(a, IntExpr) and a.symbol is not None}
            moved = replace(s, target=copy.target, index=tuple(i.substitute(names) for i in copy.index))
            if isinstance(contraction(moved, self.tensors), Contraction):
                out[out.index(s)] = moved
                out.remove(copy)
                if s.target in self.zeros:
                    self.zeros[copy.target] = self.zeros.pop(s.target)
        return self.direct(out) if len(out) != len(body) else out


def _of_terms(terms: Sequence[Expr]) -> Expr:
    """The sum of the products with each term of a factor. An infinity or NaN of the other factor shows in the first one, which
    is then the result: times a smaller term it would be NaN, or an infinity of the other sign."""
    first, total = terms[0], terms[0]
    for t in terms[1:]:
        total = Binary("add", total, t)
    return Where(Compare("eq", Binary("sub", first, first), Num(0.0)), total, first)


def _earliest(body: Sequence[NStmt], needed: set[str]) -> int:
    """Where what reads ``needed`` may stand first: beside what makes it, so that both share a stage."""
    return max((k + 1 for k, s in enumerate(body) if needed & {c.target for c in flat((s,))}), default=0)


def _bijective(m: Map) -> bool:
    """Every axis of the map indexes its loaded tensor plainly, once."""
    assert isinstance(m.value, Load)
    found = [i.symbol for i in m.value.indices if isinstance(i, IntExpr)]
    return len(found) == len(m.value.indices) and sorted(n or "" for n in found) == sorted(b.name for b in m.axes)


def _width(dtype: str) -> int:
    """Bytes of one element of a cube operand."""
    return 2 if dtype in ("float16", "bfloat16") else 4


def _elements(m: Map | Red) -> IntExpr:
    return product(extent_of(b) for b in m.axes)


def loads_gather(e: Expr) -> bool:
    """Some load has a data-dependent index."""
    return any(not isinstance(i, IntExpr) for ld in loads(e) for i in ld.indices)


def with_products(
    normal: Normal, dtypes: Mapping[str, str], typical: Mapping[str, int], near: Bounds | None = None, hf32: IntExpr = NEVER
) -> Products | None:
    """``normal`` with what the cube serves better as cube products; None when that is nothing. ``typical``: sizes at which
    vector and cube are weighed. ``near``: bounds that prove sums short; those that one stage uses stay on the vector unit.
    ``hf32``: 1 where float32 operands are taken in HF32, else 0."""
    first = _Builder(normal, dict(dtypes), typical, hf32, near)
    found = first.run()
    if found is None or len(found.work) <= OBJECTS:
        return found
    saved = [w.vector_cycles().evaluate(typical) - w.cube_cycles().evaluate(typical) for w in first.work]
    order = sorted(range(len(saved)), key=lambda k: -saved[k])
    barred = frozenset(first.served[k] for k in order[OBJECTS:])
    return _Builder(normal, dict(dtypes), typical, hf32, near, barred=barred).run()
