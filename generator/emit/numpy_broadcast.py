"""Broadcast packs in the Python reference: arrays of NumPy's shapes to groups of axes and back, and shapes to test with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from generator.formula.broadcasts import Broadcast
from generator.formula.checked import CheckedSpec
from generator.formula.symbols import pack_dim
from generator.spec.packs import is_pack, pack_names

__all__ = ["SHAPES", "Placed", "group_dims", "placed", "shapes_of"]

SHAPES: Final = ((2, 3), (3,), (2, 1), (), (4, 1, 1), (1, 3))
"""Extents of a pack, any of which broadcast together."""


@dataclass(frozen=True)
class Placed:
    """A tensor with a broadcast pack: ``before`` and ``after`` count the dims around it in the tensor's shape."""

    broadcast: Broadcast
    tensor: str
    before: int
    after: int
    names: Callable[[str], str]

    @property
    def parts(self) -> list[str]:
        return sorted({x for members in self.broadcast.groups.values() for x in members})

    @property
    def part(self) -> str | None:
        """The input whose axes the tensor has; None for all axes, or for those of no single input."""
        mine = self.broadcast.of(self.tensor)
        return next((x for x in self.parts if self.broadcast.of(x) == mine), None) if self.tensor in self.broadcast.own else None

    def given(self, tensor: str) -> str:
        """The name that holds the extents of the pack in an input's shape."""
        return self.names(f"{tensor}_{self.broadcast.name}")

    @property
    def joint(self) -> str:
        return self.names(f"{self.broadcast.name}_shape")

    @property
    def _groups(self) -> str:
        every, groups = list(self.broadcast.groups), self.names(f"{self.broadcast.name}_groups")
        return f"[{', '.join(f'{groups}[{every.index(p)}]' for p in self.broadcast.of(self.tensor))}]"

    def read(self) -> Iterator[str]:
        """The lines that read the pack's extents in an input's shape."""
        name = self.names(self.tensor)
        yield f'_require({name}.ndim >= {self.before + self.after}, f"{self.tensor} has too few dims: {{{name}.ndim}}")'
        yield f"{self.given(self.tensor)} = {name}.shape[{self.before} : {name}.ndim - {self.after}]"

    def grouped(self) -> Iterator[str]:
        """The lines that merge an input's axes group by group."""
        name = self.names(self.tensor)
        if self.tensor not in self.broadcast.own:
            shape = f"{self.given(self.tensor)} == {self.joint}"
            yield f'_require({shape}, f"{self.tensor} has the shape {{{name}.shape}}, expected {{{self.joint}}} for {self.broadcast.name}")'
        yield f"{name} = _grouped({name}, {self.before}, {self.after}, {self.joint}, {self._groups})"

    def settle(self) -> Iterator[str]:
        """The lines that find the groups, once the extents of all inputs are read."""
        members = tuple(tuple(x in have for x in self.parts) for have in self.broadcast.groups.values())
        groups = self.names(f"{self.broadcast.name}_groups")
        yield f"{self.joint}, {groups} = _groups({members}, {', '.join(self.given(x) for x in self.parts)})"
        for at, p in enumerate(self.broadcast.groups):
            yield f"{self.names(pack_dim(p))} = math.prod({self.joint}[k] for k in {groups}[{at}])"

    def ungrouped(self, name: str) -> str:
        """An output as NumPy has it."""
        part = self.part
        owned = f"tuple(n if any(k in g for g in {self._groups}) else 1 for k, n in enumerate({self.joint}))"
        shape = self.given(part) if part is not None else owned if self.tensor in self.broadcast.own else self.joint
        return f"_ungrouped({name}, {self.before}, {self.after}, {self.joint}, {self._groups}, {shape})"

    def case_shape(self) -> str:
        """The pack's extents as Python over a case, in which the pack's name holds those of every input."""
        name = self.names(self.broadcast.name)
        part = self.part
        return f"*{name}[{self.parts.index(part)}]" if part is not None else f"*np.broadcast_shapes(*{name})"


def placed(checked: CheckedSpec, names: Callable[[str], str]) -> dict[str, Placed]:
    """The parameters with a broadcast pack, by formula symbol."""
    out: dict[str, Placed] = {}
    for b in checked.broadcasts:
        for p in checked.spec.params:
            texts = p.shape or []
            at = next((i for i, t in enumerate(texts) if is_pack(t) and pack_names(t[1:])[:1] == [b.name]), None)
            if at is not None:
                out[p.symbol] = Placed(b, p.symbol, at, len(texts) - at - 1, names)
    return out


def group_dims(checked: CheckedSpec) -> set[str]:
    """The dims that groups of broadcast axes have."""
    return {pack_dim(p) for b in checked.broadcasts for p in b.groups}


def shapes_of(b: Broadcast) -> Sequence[tuple[tuple[int, ...], ...]]:
    """Extents of the pack in each input's shape, to test with."""
    count = len({x for members in b.groups.values() for x in members})
    return tuple(tuple(SHAPES[(turn + k) % len(SHAPES)] for k in range(count)) for turn in range(len(SHAPES)))
