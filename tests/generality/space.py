"""What a drawn formula is about: dims and their legal sizes, axes, and tensors with the indices they can be read by."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["Axis", "Dim", "Double", "Fixed", "Gathered", "Margin", "Merged", "Plain", "Slot", "Source"]


@dataclass(frozen=True)
class Dim:
    """A size. ``values`` are its legal ones when it is constrained; ``step`` what it is a multiple of."""

    name: str
    values: tuple[int, ...] = ()
    step: int = 1
    most: int | None = None
    pack: bool = False
    attribute: bool = False  # an int attribute used as a size

    @property
    def where(self) -> str | None:
        """The constraint as a spec writes it."""
        if self.values:
            return f"{self.name} in {{{', '.join(map(str, self.values))}}}"
        if self.step > 1:
            return f"{self.name} % {self.step} == 0"
        return f"{self.name} <= {self.most}" if self.most is not None else None

    @property
    def text(self) -> str:
        """As it stands in a shape."""
        return f"*{self.name}" if self.pack else self.name

    @property
    def unbounded(self) -> bool:
        return not self.values and self.most is None and not self.attribute


@dataclass(frozen=True)
class Axis:
    """An axis over a dim, or over a constant extent when ``dim`` is None; ``loop`` when it is a loop's variable."""

    name: str
    dim: Dim | None
    extent: str
    loop: bool = False

    @property
    def text(self) -> str:
        return f"*{self.name}" if self.dim is not None and self.dim.pack else self.name


Scope = Mapping[str, Axis]  # axes an expression may use, by name


@dataclass(frozen=True)
class Read:
    """One way to index one dim."""

    text: str
    axes: frozenset[str]
    sized: frozenset[str]
    leaves: bool = False  # the index can leave the tensor


class Slot:
    """One dim of a tensor: its extent, and the indices that reach it."""

    extent: str

    def reads(self, scope: Scope, guard: bool) -> list[Read]:
        """The indices the axes of ``scope`` allow; with ``guard`` also those that can leave the tensor."""
        raise AssertionError


def _plain(axis: Axis) -> Read:
    names = frozenset((axis.name,))
    return Read(axis.text, names, frozenset() if axis.loop else names)


def _by(text: str, *axes: Axis, leaves: bool = False) -> Read:
    return Read(text, frozenset(a.name for a in axes), frozenset(), leaves)


def _over(scope: Scope, dim: Dim | None, extent: str = "") -> list[Axis]:
    return [a for a in scope.values() if (a.dim == dim if dim is not None else a.dim is None and a.extent == extent)]


@dataclass(frozen=True)
class Plain(Slot):
    """A dim read by an axis over it, forwards or backwards, or by a window around the axis."""

    dim: Dim

    @property
    def extent(self) -> str:  # type: ignore[override]
        return self.dim.text

    def reads(self, scope: Scope, guard: bool) -> list[Read]:
        axes = _over(scope, self.dim)
        out = [_plain(a) for a in axes] * 6
        if self.dim.pack:
            return out
        out += [_by(f"{self.dim.name} - 1 - {a.name}", a) for a in axes]
        if guard:
            for window in [a for a in scope.values() if a.dim is None]:
                reach = int(window.extent) // 2
                out += [_by(f"{a.name} + {window.name} - {reach}", a, window, leaves=True) for a in axes if not a.loop] * 4
        return out


@dataclass(frozen=True)
class Double(Slot):
    """Twice a dim: its halves, or its even and odd places."""

    dim: Dim

    @property
    def extent(self) -> str:  # type: ignore[override]
        return f"2*{self.dim.name}"

    def reads(self, scope: Scope, guard: bool) -> list[Read]:
        name = self.dim.name
        return [_by(t.format(a=a.name, n=name), a) for a in _over(scope, self.dim) for t in ("{a} + {n}", "2*{a}", "2*{a} + 1")]


@dataclass(frozen=True)
class Margin(Slot):
    """A dim and a margin for a window that stays inside."""

    dim: Dim
    room: int

    @property
    def extent(self) -> str:  # type: ignore[override]
        return f"{self.dim.name} + {self.room}"

    def reads(self, scope: Scope, guard: bool) -> list[Read]:
        axes = _over(scope, self.dim)
        out = [_by(f"{a.name} + {k + 1}", a) for a in axes for k in range(self.room)]
        for window in [a for a in scope.values() if a.dim is None and int(a.extent) <= self.room + 1]:
            out += [_by(f"{a.name} + {window.name}", a, window) for a in axes] * 6
        return out


@dataclass(frozen=True)
class Fixed(Slot):
    """A constant extent: read at a place, or by an axis over it."""

    count: int

    @property
    def extent(self) -> str:  # type: ignore[override]
        return str(self.count)

    def reads(self, scope: Scope, guard: bool) -> list[Read]:
        axes = [_plain(a) for a in _over(scope, None, self.extent)]
        return axes * 4 + [Read(str(k), frozenset(), frozenset()) for k in range(self.count)]


@dataclass(frozen=True)
class Merged(Slot):
    """Two dims in one, row-major."""

    outer: Dim
    inner: Dim

    @property
    def extent(self) -> str:  # type: ignore[override]
        return f"{self.outer.name}*{self.inner.name}"

    def reads(self, scope: Scope, guard: bool) -> list[Read]:
        pairs = [(a, b) for a in _over(scope, self.outer) for b in _over(scope, self.inner) if a != b and not a.loop and not b.loop]
        out = [_by(f"({a.name}, {b.name})", a, b) for a, b in pairs]
        return out + [_by(f"{a.name}*{self.inner.name} + {b.name}", a, b) for a, b in pairs]


@dataclass(frozen=True)
class Gathered(Slot):
    """A dim that an integer tensor indexes."""

    dim: Dim
    index: str
    over: Dim

    @property
    def extent(self) -> str:  # type: ignore[override]
        return self.dim.text

    def reads(self, scope: Scope, guard: bool) -> list[Read]:
        return [Read(f"{self.index}[{a.name}]", frozenset((a.name,)), frozenset((a.name,))) for a in _over(scope, self.over) if not a.loop]


@dataclass
class Source:
    """A tensor that can be read: its dims, the range of its elements, and their kind."""

    name: str
    slots: tuple[Slot, ...]
    low: float = -2.0
    high: float = 2.0
    exact: bool = False
    relative: bool = False
    kind: str = "float"
    dtype: str = "float32"
    optional: bool = False
    fill: float = 0.0
    flat: tuple[str, ...] = ()  # order of a flat buffer's axes, slowest first
    weight: int = 2
    uses: int = field(default=0, compare=False)

    def read(self, rng: random.Random, scope: Scope, guard: bool = False) -> tuple[str, list[Read]] | None:
        """The text of a load by axes of ``scope`` with the indices it uses, or None when they do not reach the tensor."""
        chosen: list[Read] = []
        for slot in self.slots:
            options = slot.reads(scope, guard)
            fresh = [r for r in options if not any(r.axes & c.axes for c in chosen)]  # x[a, a] is rare
            if fresh and rng.random() < 0.95:
                options = fresh
            if not options:
                return None
            chosen.append(rng.choice(options))
        text = f"{self.name}[{', '.join(r.text for r in chosen)}]" if chosen else self.name
        return text, chosen

    def reachable(self, scope: Scope) -> bool:
        return all(slot.reads(scope, False) for slot in self.slots)
