"""Arrays of broadcast packs to and from what a resolved program has: the pack's axes in groups, by the inputs that have them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from generator.formula.broadcasts import Broadcast
from generator.formula.checked import CheckedSpec
from generator.formula.symbols import pack_dim
from generator.reference.errors import ShapeError
from generator.spec.packs import is_pack, pack_names

__all__ = ["Grouping", "grouping"]

Array = NDArray[Any]
Shape = tuple[int, ...]


@dataclass(frozen=True)
class Grouping:
    """How the axes of one broadcast pack fall into groups for given inputs. ``joint`` are the extents of the whole pack, ``members``
    for each of its axes the inputs that have it; ``axes`` gives for each ordinary pack the axes that it holds."""

    broadcast: Broadcast
    joint: Shape
    members: tuple[frozenset[str], ...]
    places: Mapping[str, tuple[int, int]]  # tensor -> dims of its shape before and after the pack

    @property
    def axes(self) -> dict[str, list[int]]:
        return {p: [k for k, m in enumerate(self.members) if m == has] for p, has in self.broadcast.groups.items()}

    @property
    def dims(self) -> dict[str, int]:
        """The extents of the ordinary packs, by their dims."""
        return {pack_dim(p): prod(self.joint[k] for k in axes) for p, axes in self.axes.items()}

    def _own(self, tensor: str) -> list[str]:
        return list(self.broadcast.of(tensor))

    def grouped(self, tensor: str, array: Array) -> Array:
        """``array``, of the shape that NumPy has for ``tensor``, as the program has it."""
        before, after = self.places[tensor]
        lead, tail = array.shape[:before], array.shape[array.ndim - after :]
        given = array.shape[before : array.ndim - after]
        wide = array.reshape(*lead, *(1,) * (len(self.joint) - len(given)), *given, *tail)
        order = [k for p in self._own(tensor) for k in self.axes[p]]
        rest = [k for k in range(len(self.joint)) if k not in order]
        turned = wide.transpose(*range(before), *(before + k for k in (*order, *rest)), *range(wide.ndim - after, wide.ndim))
        return turned.reshape(*lead, *(self.dims[pack_dim(p)] for p in self._own(tensor)), *tail)

    def ungrouped(self, tensor: str, array: Array, like: Shape | None = None) -> Array:
        """The inverse: an array of the program as NumPy has it. ``like`` are the pack's extents in the shape of the input whose axes
        the tensor has; all of the pack's otherwise."""
        before, after = self.places[tensor]
        lead, tail = array.shape[:before], array.shape[array.ndim - after :] if after else ()
        order = [k for p in self._own(tensor) for k in self.axes[p]]
        wide = array.reshape(*lead, *(self.joint[k] for k in order), *tail)
        back = [before + order.index(k) for k in sorted(order)]
        turned = wide.transpose(*range(before), *back, *range(wide.ndim - after, wide.ndim))
        return turned.reshape(*lead, *(self.joint if like is None else like), *tail)


def grouping(checked: CheckedSpec, broadcast: Broadcast, shapes: Mapping[str, Shape]) -> Grouping:
    """The grouping for inputs of ``shapes``. Raises ShapeError when NumPy's rule does not broadcast them."""
    places: dict[str, tuple[int, int]] = {}
    for p in checked.spec.params:
        texts = p.shape or []
        at = next((i for i, t in enumerate(texts) if is_pack(t) and pack_names(t[1:])[:1] == [broadcast.name]), None)
        if at is not None:
            places[p.symbol] = (at, len(texts) - at - 1)
    inputs = sorted({x for members in broadcast.groups.values() for x in members})
    given = {x: _pack(shapes[x], places[x]) for x in inputs}
    try:
        joint = np.broadcast_shapes(*given.values())
    except ValueError as error:
        said = ", ".join(f"{x} {s}" for x, s in given.items())
        raise ShapeError(f"the axes of '*{broadcast.name}' do not broadcast: {said}") from error
    wide = {x: (1,) * (len(joint) - len(s)) + s for x, s in given.items()}
    members = tuple(frozenset(x for x in inputs if wide[x][k] == n and n != 1) for k, n in enumerate(joint))
    everyone = frozenset(inputs)
    return Grouping(broadcast, joint, tuple(m or everyone for m in members), places)


def _pack(shape: Sequence[int], place: tuple[int, int]) -> Shape:
    before, after = place
    return tuple(shape[before : len(shape) - after])
