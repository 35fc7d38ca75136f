"""A hypothesis strategy that draws whole operator specs: YAML text, sizes to run it on, a product.

A spec has 1 to 6 statements over 1 to 4 axes: element-wise functions, broadcasts, reductions over any subset of the
axes, windows, strides, transposes, gathers, a loop over a carried tensor, one or two outputs, three dtypes, optional
parameters, flat buffers, packs. What is drawn is legal by construction and well conditioned (see ``values``).
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from hypothesis import strategies as st

from tests.generality.expressions import Drawer
from tests.generality.space import Axis, Dim, Double, Fixed, Gathered, Margin, Merged, Plain, Slot, Source
from tests.generality.values import Value, add, fit, steady

__all__ = ["Drawn", "draw", "specs"]

_RANGES: Final = ((-2.0, 2.0), (-1.0, 1.0), (0.25, 2.0), (0.5, 1.5), (-2.0, 0.5))
_SIZES: Final = (1, 2, 3, 5, 7, 8, 13, 16, 17, 31, 33, 64, 65, 100, 127, 129)
TARGETS: Final = (("Ascend910B", 40), ("Ascend910B", 48), ("Ascend950", 64))
LONG: Final = 30011


@dataclass(frozen=True)
class Drawn:
    """``dims`` and ``floats`` say which sizes and attribute values are legal; ``target`` is a product and its cores."""

    name: str
    text: str
    dims: tuple[Dim, ...]
    floats: Mapping[str, tuple[float, float]]
    flags: tuple[str, ...]
    optional: tuple[str, ...]
    combinations: int
    looped: frozenset[str]  # dims that a loop runs over: kept small
    twice: frozenset[str]  # dims that two axes run over
    target: tuple[str, int]
    seed: int

    def environments(self, count: int) -> list[dict[str, int]]:
        """Sizes to run on: small, ordinary, and one dim long where no bound keeps it short."""
        rng = random.Random(self.seed)
        out = []
        for k in range(count):
            env = {d.name: self.size(d, rng) for d in self.dims}
            lengthened = [d for d in self.dims if d.unbounded and d.name not in self.looped | self.twice]
            if k == count - 1 and lengthened:
                for d in self.dims:
                    if d.unbounded:
                        env[d.name] = rng.choice((1, 2, 3)) * d.step
                chosen = rng.choice(lengthened)
                env[chosen.name] = LONG // chosen.step * chosen.step
            out.append({("numel_" + n if self.dim(n).pack else n): v for n, v in env.items()})
        return out

    def dim(self, name: str) -> Dim:
        return next(d for d in self.dims if d.name == name)

    def size(self, d: Dim, rng: random.Random) -> int:
        if d.values:
            return rng.choice(d.values)
        if d.attribute:
            return rng.randint(1, 4)
        top = min(d.most or 10**9, 6 if d.name in self.looped else 10**9)
        return rng.choice([s for s in _SIZES if s * d.step <= max(top, d.step)]) * d.step


@dataclass
class _Spec:
    """A spec under construction."""

    rng: random.Random
    dims: list[Dim] = field(default_factory=list)
    axes: dict[str, Axis] = field(default_factory=dict)
    inputs: list[Source] = field(default_factory=list)
    outputs: list[Source] = field(default_factory=list)
    locals_: list[Source] = field(default_factory=list)
    floats: dict[str, tuple[float, float]] = field(default_factory=dict)
    flags: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    loop: Axis | None = None
    made_so_far: int = 0
    inside: bool = False  # while the loop's body is drawn

    # dims and axes --------------------------------------------------------------------------------------------------
    def draw_dims(self, count: int) -> None:
        rng = self.rng
        for name in "ABCD"[:count]:
            kind = rng.choices(("free", "set", "multiple", "most"), (7, 2, 0.7, 1))[0]
            if kind == "set":
                self.dims.append(Dim(name, rng.choice(((4, 6, 8), (2, 3, 5), (16, 32), (1, 4)))))
            elif kind == "multiple":
                self.dims.append(Dim(name, step=rng.choice((8, 16, 4))))
            elif kind == "most":
                self.dims.append(Dim(name, most=rng.choice((7, 16, 40))))
            else:
                self.dims.append(Dim(name))
        if rng.random() < 0.15:
            self.dims[0] = Dim("p", pack=True)
        for d in self.dims:
            self.axes[d.name.lower()] = Axis(d.name.lower(), d, d.name)
        twins = [d for d in self.dims if not d.pack]
        if twins and len(self.axes) < 4 and rng.random() < 0.25:
            d = rng.choice(twins)
            self.axes[d.name.lower() + "2"] = Axis(d.name.lower() + "2", d, d.name)
        if rng.random() < 0.2:
            self.axes["k"] = Axis("k", None, str(rng.choice((2, 3, 5))))

    def draw_loop(self) -> None:
        """A loop variable over an int attribute or over a dim."""
        rng = self.rng
        if rng.random() >= 0.3:
            return
        own = [d for d in self.dims if not d.pack and not d.values and len(self.dims) > 1]
        if own and rng.random() < 0.5:
            dim = rng.choice(own)
            for name in [n for n, a in self.axes.items() if a.dim == dim]:
                del self.axes[name]
        else:
            dim = Dim("R", attribute=True)
            self.dims.append(dim)
        self.loop = Axis("r", dim, dim.name, loop=True)

    # tensors --------------------------------------------------------------------------------------------------------
    def slot(self, d: Dim) -> Slot:
        if d.pack or d.attribute:
            return Plain(d)
        rng = self.rng
        kind = rng.choices(("plain", "double", "margin", "merged", "gathered"), (20, 1.2, 1.2, 0.8, 0.8))[0]
        others = [e for e in self.dims if e != d and not e.pack and not e.attribute]
        if kind == "double":
            return Double(d)
        if kind == "margin":
            return Margin(d, rng.choice((1, 2, 4)))
        if kind == "merged" and others:
            return Merged(d, rng.choice(others))
        if kind == "gathered" and others:
            over = rng.choice(others)
            name = f"at{len(self.inputs)}"
            self.inputs.append(Source(name, (Plain(over),), 0, 0, True, True, "index", "int32"))
            return Gathered(d, name, over)
        return Plain(d)

    def draw_inputs(self) -> None:
        rng = self.rng
        for n in range(rng.choices((1, 2, 3, 4), (3, 4, 3, 2))[0]):
            chosen = rng.sample(self.dims, rng.choices(range(1, len(self.dims) + 1), range(1, len(self.dims) + 1))[0])
            chosen.sort(key=lambda d: not d.pack if rng.random() < 0.9 else rng.random())
            if rng.random() < 0.5:
                chosen.sort(key=lambda d: d.name)
            slots = [self.slot(d) for d in chosen]
            doubled = [a for a in self.axes.values() if a.name.endswith("2")]
            if doubled and rng.random() < 0.4 and any(d == doubled[0].dim for d in chosen):
                slots.append(Plain(doubled[0].dim))  # type: ignore[arg-type]
            if rng.random() < 0.1:
                slots.insert(rng.randint(0, len(slots)), Fixed(int(self.axes["k"].extent) if "k" in self.axes else rng.choice((1, 2, 3))))
            self.add_input(f"x{n}", tuple(slots))
        given = [s for s in self.inputs if not s.optional and not s.flat]
        missing = [d for d in self.dims if not d.attribute and not any(Plain(d) in s.slots for s in given)]
        if missing:
            self.add_input(f"x{len(self.inputs)}", tuple(Plain(d) for d in missing), required=True)
        if rng.random() < 0.06:
            self.inputs.append(Source("count", (Plain(self.dims[0]),), -8, 8, True, True, "int", "int32"))

    def add_input(self, name: str, slots: tuple[Slot, ...], required: bool = False) -> None:
        rng = self.rng
        low, high = rng.choice(_RANGES)
        dtype = "X" if rng.random() < 0.6 else "float32"
        source = Source(name, slots, low, high, True, True, "float", dtype)
        plain = [s.dim for s in slots if isinstance(s, Plain)]
        distinct = len(plain) == len(slots) == len({d.name for d in plain})
        if distinct and not required and not any(d.pack for d in plain) and rng.random() < 0.08:
            order = [d.name.lower() for d in plain]
            rng.shuffle(order)
            source.flat = tuple(order)
        elif self.inputs and not required and rng.random() < 0.06:
            source.optional, source.fill = True, rng.choice((0.0, 1.0, 0.5))
            source.low, source.high = min(low, source.fill), max(high, source.fill)
        self.inputs.append(source)

    def drawer(self) -> Drawer:
        spare = {n: a for n, a in self.axes.items() if a.dim is None or not a.dim.attribute}
        sources = [s for s in self.inputs if s.kind != "index"] + self.locals_
        return Drawer(self.rng, sources, spare, self.floats, tuple(self.flags))

    # statements -----------------------------------------------------------------------------------------------------
    def some_axes(self, most: int = 4) -> dict[str, Axis]:
        names = [n for n, a in self.axes.items() if a.dim is not None]
        count = min(len(names), most, self.rng.choices((0, 1, 2, 3, 4), (0.2, 3, 5, 4, 2))[0])
        chosen = self.rng.sample(names, count)
        if self.rng.random() < 0.6:
            chosen.sort()
        return {n: self.axes[n] for n in chosen}

    def left(self, name: str, scope: Mapping[str, Axis], value: Value, shaped: bool) -> str:
        """The left side; ``shaped`` when the tensor's shape is known, so that no axis needs its extent."""
        said = [a.text if shaped or a.name in value.sized else f"{a.text}: {a.extent}" for a in scope.values()]
        return f"{name}[{', '.join(said)}]" if said else name

    def body(self, scope: Mapping[str, Axis]) -> Value:
        """A right side that mostly moves with every axis of the left one."""
        rng, d = self.rng, self.drawer()
        extra = {self.loop.name: self.loop} if self.loop is not None and self.inside else {}
        reach = {**scope, **extra}
        found = d.reduction(reach, rng.choice((1, 2))) if rng.random() < 0.45 else None
        value = found or d.value(reach, rng.choice((1, 2, 2, 3)), prefer=frozenset(scope))
        missing = frozenset(scope) - value.axes
        if missing and rng.random() < 0.85:
            value = d.binary(value, d.leaf(reach, prefer=missing))
        packs = [a for a in scope.values() if a.dim is not None and a.dim.pack and a.name not in value.sized]
        if packs:
            value = add(value, d.leaf(scope, prefer=frozenset(a.name for a in packs)))
        return value

    def local(self, indent: str = "") -> None:
        name = f"t{self.made_so_far}"
        self.made_so_far += 1
        scope = self.some_axes(3)
        value = self.body(scope)
        if any(a.dim is not None and a.dim.pack and a.name not in value.sized for a in scope.values()):
            return
        self.lines.append(f"{indent}{self.left(name, scope, value, False)} = {value.text}")
        self.locals_.append(self.made(name, scope, value))

    def made(self, name: str, scope: Mapping[str, Axis], value: Value) -> Source:
        slots: list[Slot] = [Plain(a.dim) for a in scope.values() if a.dim is not None]
        return Source(name, tuple(slots), value.low, value.high, value.exact, value.relative, weight=4)

    def output(self, name: str, indent: str = "") -> None:
        rng = self.rng
        scope = self.some_axes() or dict(list(self.axes.items())[:1])
        scope = {n: a for n, a in scope.items() if a.dim is not None}
        dtype = "X" if rng.random() < 0.6 else "float32"
        kind = rng.choices(("plain", "argmax", "bool", "pieces", "halves", "kept", "filled"), (16, 0.8, 0.5, 0.7, 0.9, 1.2, 0.6))[0]
        if kind in ("argmax", "bool") and self.discrete(name, scope, kind):
            return
        if kind == "pieces":
            shape = [Fixed(2), *self.slots_of(scope)]
            for k in range(2):
                value = self.rounded(self.body(scope), dtype)
                self.lines.append(f"{name}[{', '.join([str(k), *(a.text for a in scope.values())])}] = {value.text}")
            self.outputs.append(Source(name, tuple(shape), dtype=dtype))
            return
        value = self.rounded(self.body(scope), dtype)
        names = [a.text for a in scope.values()]
        slots: list[Slot] = self.slots_of(scope)
        singles = [k for k, s in enumerate(slots) if isinstance(s, Plain) and not s.dim.pack]
        if kind == "halves" and singles and self.halves(name, scope, value, dtype, rng.choice(singles)):
            return
        if kind == "plain" and dtype == "float32" and rng.random() < 0.3:
            self.locals_.append(self.made(name, scope, value))  # later statements may read it, unrounded
        if kind == "filled" and singles:
            at = rng.choice(singles)
            own = list(scope.values())[at]
            if own.name in value.sized and own.dim is not None:
                slots[at] = Margin(own.dim, 2)
                names[at] = f"{own.name} + {rng.choice((0, 1, 2))}".removesuffix(" + 0")
                names[at] += f": {own.extent}" if names[at] == own.name else ""
                self.lines.append(f"{indent}{name}[{', '.join(names)}] = {value.text}")
                self.outputs.append(Source(name, tuple(slots), dtype=dtype, fill=rng.choice((0.5, 2.0))))
                return
        if kind == "kept":
            at = rng.randint(0, len(slots))
            slots.insert(at, Fixed(1))
            names.insert(at, "0")
        self.lines.append(f"{indent}{name}[{', '.join(names)}] = {value.text}")
        out = Source(name, tuple(slots), value.low, value.high, relative=value.relative, dtype=dtype)
        plain = [s.dim for s in slots if isinstance(s, Plain)]
        if len(plain) == len(slots) == len({d.name for d in plain}) and not any(d.pack for d in plain) and rng.random() < 0.08:
            order = [d.name.lower() for d in plain]
            rng.shuffle(order)
            out.flat = tuple(order)
        self.outputs.append(out)

    def halves(self, name: str, scope: Mapping[str, Axis], first: Value, dtype: str, at: int) -> bool:
        """An output of twice a dim, written by halves or by even and odd places; False when an axis would have no extent."""
        slots = self.slots_of(scope)
        own = list(scope.values())[at]
        dim = own.dim
        assert dim is not None
        second = self.rounded(self.body(scope), dtype)
        forms = self.rng.choice(((own.name, f"{own.name} + {dim.name}"), (f"2*{own.name}", f"2*{own.name} + 1")))
        if not all(own.name in v.sized for v, f in zip((first, second), forms, strict=True) if f != own.name):
            return False
        for form, v in zip(forms, (first, second), strict=True):
            index = [a.text for a in scope.values()]
            index[at] = f"{form}: {own.extent}" if form == own.name else form
            self.lines.append(f"{name}[{', '.join(index)}] = {v.text}")
        slots[at] = Double(dim)
        self.outputs.append(Source(name, tuple(slots), dtype=dtype))
        return True

    @staticmethod
    def slots_of(scope: Mapping[str, Axis]) -> list[Slot]:
        return [Plain(a.dim) for a in scope.values() if a.dim is not None]

    def rounded(self, value: Value, dtype: str) -> Value:
        return steady(value, 1000.0 if dtype == "X" else float("inf"))

    def discrete(self, name: str, scope: Mapping[str, Axis], kind: str) -> bool:
        """An output of integers or of truth values."""
        d = self.drawer()
        bound = d.bind(scope)
        if kind == "argmax":
            bound = dict(list(bound.items())[:1])
            if not bound or next(iter(bound.values())).dim is None or next(iter(bound.values())).dim.pack:  # type: ignore[union-attr]
                return False
            body = d.leaf({**scope, **bound}, exact=True, prefer=frozenset(bound))
            if not body.exact or not body.axes & frozenset(bound):
                return False
            value = d.reduced(self.rng.choice(("argmax", "argmin")), bound, body, 0, 100)
            dtype = "int32"
        else:
            value, dtype = d.condition(scope), "bool"
        self.lines.append(f"{name}[{', '.join(a.text for a in scope.values())}] = {value.text}")
        self.outputs.append(Source(name, tuple(self.slots_of(scope)), kind=dtype, dtype=dtype))
        return True

    def carried(self) -> None:
        """A tensor carried by a loop, maybe with its history as an output."""
        assert self.loop is not None
        rng = self.rng
        scope = self.some_axes(2)
        first = fit(self.body(scope), -2.0, 2.0)
        if any(a.dim is not None and a.dim.pack and a.name not in first.sized for a in scope.values()):
            scope = {n: a for n, a in scope.items() if n in first.sized or not (a.dim is not None and a.dim.pack)}
        self.lines.append(f"{self.left('h', scope, first, False)} = {first.text}")
        h = replace(self.made("h", scope, first), low=-2.0, high=2.0, exact=False, relative=False, weight=6)
        self.locals_.append(h)
        dim = self.loop.dim
        assert dim is not None
        forwards = rng.random() < 0.6
        self.lines.append(f"for r in range({dim.name}):" if forwards else f"for r in range({dim.name} - 1, -1, -1):")
        self.inside = True
        before = len(self.locals_)
        if rng.random() < 0.5:
            self.local("    ")
        step = fit(self.body(scope), -2.0, 2.0)
        index = f"[{', '.join(a.text for a in scope.values())}]" if scope else ""
        form = rng.choice(("0.5 * h{i} + 0.5 * {e}", "maximum(h{i}, {t})", "tanh(h{i} + {e})", "0.25 * {e} - 0.75 * h{i}"))
        text = form.format(i=index, e=step.inner(), t=step.text)
        said = ", ".join(a.text for a in scope.values())
        self.lines.append(f"    h{f'[{said}]' if said else ''} = {text}")
        if rng.random() < 0.5:
            value = steady(Value(f"h{index}", -2.0, 2.0, frozenset(scope), frozenset(scope)))
            self.lines.append(f"    y{len(self.outputs)}[{', '.join(['r', *(a.text for a in scope.values())])}] = {value.text}")
            history = (Plain(dim), *self.slots_of(scope))
            self.outputs.append(Source(f"y{len(self.outputs)}", history, dtype="X" if rng.random() < 0.5 else "float32"))
        self.inside = False
        del self.locals_[before:]  # made inside the loop, which may not run

    def statements(self, wanted: int) -> None:
        rng = self.rng
        two = rng.random() < 0.35
        if self.loop is not None:
            self.carried()
        while len(self.lines) < wanted - 1 - two:
            self.local()
        while len(self.outputs) < (2 if two else 1):
            self.output(f"y{len(self.outputs)}")

    # text -----------------------------------------------------------------------------------------------------------
    def parameter(self, s: Source, direction: str) -> list[str]:
        out = [f"  - symbol: {s.name}", f"    name: {s.name}", f"    aclnn: {s.name}Arg", f"    io: {direction}"]
        if s.flat:
            axes = [t.dim for t in s.slots if isinstance(t, Plain)]
            said = ", ".join(f"{d.name.lower()}: {d.name}" for d in axes)
            size = "*".join([*(d.name for d in axes), str(1 + len(s.name) % 2)])
            out += ["    flat:", f"      axes: {{{said}}}", f"      order: [{', '.join(s.flat)}]", f"      size: {size}"]
        else:
            shown = [f'"{t.extent}"' for t in s.slots]
            out.append(f"    shape: [{', '.join(shown)}]")
        out.append(f"    dtype: {s.dtype}")
        if s.optional:
            out.append("    optional: true")
        if s.fill or (s.optional and direction == "in"):
            out.append(f"    fill: {s.fill}")
        return [*out, "    about: {en: drawn, zh: 随机}"]

    def yaml(self, name: str, combinations: Sequence[str]) -> str:
        used = [d for d in self.dims if not d.pack and not d.attribute]
        out = [f"name: {name}", "family: drawn", "summary: {en: A drawn operator., zh: 随机算子。}"]
        out.append("dims:" if used else "dims: {}")
        out += [f"  {d.name}: {{where: \"{d.where}\"}}" if d.where else f"  {d.name}: {{}}" for d in used]
        out.append("params:")
        for s in self.inputs:
            out += self.parameter(s, "in")
        about = "    about: {en: drawn, zh: 随机}"
        for n in self.floats:
            out += [f"  - symbol: {n}", f"    name: {n}", f"    aclnn: {n}", "    io: attr", "    type: float", "    default: 0.5", about]
        for n in self.flags:
            out += [f"  - symbol: {n}", f"    name: {n}", f"    aclnn: {n}", "    io: attr", "    type: bool", "    default: true", about]
        if any(d.attribute for d in self.dims):
            out += ["  - symbol: R", "    name: rounds", "    aclnn: rounds", "    io: attr", "    type: int", "    default: 2"]
            out += ["    where: 1 <= R <= 8", about]
        for s in self.outputs:
            out += self.parameter(s, "out")
        if any(s.dtype == "X" for s in (*self.inputs, *self.outputs)):
            out += ["dtypes:", *(f"  - {{X: {c}}}" for c in combinations)]
        out += ["formula: |", *(f"  {line}" for line in self.lines)]
        ranges = [f"{s.name}: [{s.low}, {s.high}]" for s in self.inputs if s.kind != "index"]
        return "\n".join([*out, f"tests: {{inputs: {{{', '.join(ranges)}}}}}"]) + "\n"


def draw(rng: random.Random, statements: int, axes: int) -> Drawn:
    """One operator of about so many statements, over so many dims."""
    s = _Spec(rng)
    s.draw_dims(axes)
    s.draw_loop()
    if rng.random() < 0.25:
        s.floats["alpha"] = (0.25, 1.5)
    if rng.random() < 0.05:
        s.flags.append("flag")
    s.draw_inputs()
    s.statements(statements)
    if len(s.outputs) > 1 and rng.random() < 0.12:
        s.outputs[-1].optional = True
    dtypes = rng.sample(("float32", "float16", "bfloat16"), rng.choices((1, 2), (5, 1))[0])
    seed = rng.getrandbits(30)
    name = f"Drawn{seed:09d}"
    typed = any(x.dtype == "X" for x in (*s.inputs, *s.outputs))
    looped = frozenset({s.loop.dim.name}) if s.loop is not None and s.loop.dim is not None else frozenset()
    over = [a.dim.name for a in s.axes.values() if a.dim is not None]
    return Drawn(
        name=name, text=s.yaml(name, dtypes), dims=tuple(s.dims), floats=s.floats, flags=tuple(s.flags),
        optional=tuple(x.name for x in (*s.inputs, *s.outputs) if x.optional), combinations=len(dtypes) if typed else 1,
        looped=looped, twice=frozenset(n for n in over if over.count(n) > 1), target=rng.choice(TARGETS), seed=seed,
    )  # fmt: skip


def specs() -> st.SearchStrategy[Drawn]:
    """The strategy: it shrinks to fewer statements over fewer axes; the rest follows from a seed, evenly spread."""
    return st.builds(draw, st.randoms(use_true_random=True), st.integers(1, 6), st.sampled_from((2, 3, 1, 4)))
