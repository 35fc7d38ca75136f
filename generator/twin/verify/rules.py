"""A spec's integer rules asked of whole or partial assignments: constraints, ranges, derived dims."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from generator.formula.checked import CheckedSpec
from generator.spec import conditions
from generator.spec.integer import Atom, Func, IntExpr, Numel, numel, product
from generator.twin.verify.case import Number
from generator.twin.verify.shapes import attributes

__all__ = ["Rule", "Rules", "exact"]


def exact(expr: IntExpr, env: Mapping[str, int]) -> int | None:
    """The value of ``expr``, or None when a division in it leaves a remainder. ZeroDivisionError when one is by zero."""
    for atom in expr.atoms():
        if isinstance(atom, Func) and atom.op == "floordiv" and atom.a.evaluate(env) % atom.b.evaluate(env):
            return None
    return expr.evaluate(env)


@dataclass(frozen=True)
class Rule:
    """One condition of the spec. ``about`` names what it restricts: a dim, an attribute, or "constraint"."""

    text: str
    about: str
    condition: conditions.Condition
    needs: frozenset[str]
    tensors: tuple[str, ...] = ()  # whose element counts it names
    typed: frozenset[str] = frozenset()  # whose dtypes it names


class Rules:
    """Everything that decides whether dims and attributes are legal together.

    ``free`` are the dims a case may choose: packs and dims without a formula, and those derived from element counts
    (the counts follow from the choice); ``computed`` are the others.
    """

    def __init__(self, checked: CheckedSpec) -> None:
        self.checked = checked
        self.counts = {name: self._count(name) for name in checked.program.tensors}
        derived = dict(checked.derived)
        self.computed = {n: e for n, e in derived.items() if not any(isinstance(a, Numel) for a in e.atoms())}
        self.counted = {n: e.map_atoms(self._expand) for n, e in derived.items() if n not in self.computed}
        attrs = {p.symbol for p in checked.spec.params if p.io == "attr"}
        self.free = tuple(n for n in checked.program.dims if n not in self.computed and n not in attrs)
        self.attrs = tuple(p.symbol for p in attributes(checked.spec))
        self.constants = {p.symbol: p.default for p in checked.spec.params if p.type == "string" and isinstance(p.default, str)}
        self.rules = tuple(self._rules())
        self.absences = {p.symbol: self._rule(p.optional_when, p.symbol) for p in checked.spec.params if p.optional_when}

    def _count(self, name: str) -> IntExpr:
        tensor = self.checked.program.tensors[name]
        return tensor.flat.size if tensor.flat is not None else product(tensor.shape)

    def _expand(self, atom: object) -> IntExpr | None:
        return self.counts[atom.tensor] if isinstance(atom, Numel) else None

    def _rules(self) -> list[Rule]:
        spec = self.checked.spec
        texts = [(d.where, n) for n, d in spec.dims.items() if d.where]
        texts += [(p.where, p.symbol) for p in spec.params if p.io == "attr" and p.where and not p.aclnn_only]
        texts += [(c.that, "constraint") for c in spec.constraints]
        return [self._rule(text, about) for text, about in texts]

    def _rule(self, text: str, about: str) -> Rule:
        spec = self.checked.spec
        kinds = {k: [p.symbol for p in spec.params if p.type in k] for k in (("float", "double"), ("bool",), ("string",), ("int",))}
        floats, bools, strings, ints = kinds.values()
        integers = [*self.checked.program.dims, *dict(self.checked.derived), *spec.dims, *ints]
        names = conditions.Names(integers, floats, bools, strings, list(self.counts))
        condition = conditions.parse(text, names)
        tensors = tuple(t for t in self.counts if numel(t).atoms() & _atoms(condition))
        needs = set(conditions.free(condition)) - self.constants.keys()
        for tensor in tensors:
            needs |= self.counts[tensor].free()
        return Rule(text, about, condition, frozenset(needs), tensors, conditions.typed(condition))

    def wanted(self, absent: Collection[str], env: Mapping[str, Number], dtypes: Mapping[str, str] | None = None) -> list[str]:
        """Which of the ``absent`` parameters ``env`` and ``dtypes`` decide may not be absent."""
        rules = [(s, self.absences[s]) for s in absent if s in self.absences]
        return [s for s, r in rules if self._decided(r, env, dtypes) and not self.holds(r, env, dtypes)]

    @staticmethod
    def _decided(rule: Rule, env: Mapping[str, Number], dtypes: Mapping[str, str] | None) -> bool:
        return rule.needs <= env.keys() and rule.typed <= (dtypes or {}).keys()

    def dtypes(self, combination: int) -> dict[str, str]:
        """The dtype of every tensor in a combination, by formula symbol."""
        spec = self.checked.spec
        kinds = {k: str(v) for k, v in (spec.dtypes[combination] if spec.dtypes else {}).items()}
        return {p.symbol: kinds.get(p.dtype or "", p.dtype or "") for p in spec.params if p.io != "attr"}

    def holds(self, rule: Rule, env: Mapping[str, Number], dtypes: Mapping[str, str] | None = None) -> bool:
        """Whether a rule holds; every name it needs must be in ``env``, every tensor whose dtype it names in ``dtypes``."""
        integers = _integers(env)
        numels = {t: self.counts[t].evaluate(integers) for t in rule.tensors}
        return conditions.evaluate(rule.condition, {**self.constants, **env}, numels, dtypes)

    def completed(self, env: Mapping[str, Number]) -> dict[str, Number] | None:
        """``env`` with the computed dims that it determines; None when one does not come out exact."""
        out = dict(env)
        for name, expr in self.computed.items():
            integers = _integers(out)
            if expr.free() <= integers.keys():
                try:
                    value = exact(expr, integers)
                except ZeroDivisionError:
                    value = self.checked.spec.dims[name].when_empty
                if value is None:
                    return None
                out[name] = value
        return out

    def broken(self, env: Mapping[str, Number], dtypes: Mapping[str, str] | None = None) -> list[Rule]:
        """The rules that ``env`` and ``dtypes`` decide and violate."""
        return [r for r in self.rules if self._decided(r, env, dtypes) and not self.holds(r, env, dtypes)]

    def counts_agree(self, env: Mapping[str, Number]) -> bool:
        """Whether each dim derived from element counts comes out as chosen, as far as ``env`` decides it."""
        integers = _integers(env)
        for name, expr in self.counted.items():
            if name in integers and expr.free() <= integers.keys():
                try:
                    value = exact(expr, integers)
                except ZeroDivisionError:
                    value = self.checked.spec.dims[name].when_empty
                if value != integers[name]:
                    return False
        return True

    def allowed(self, env: Mapping[str, Number], dtypes: Mapping[str, str] | None = None) -> bool:
        """False when no completion of ``env`` is legal with these dtypes (None: with any)."""
        full = self.completed(env)
        return full is not None and self.counts_agree(full) and not self.broken(full, dtypes)


def _atoms(condition: conditions.Condition) -> frozenset[Atom]:
    """Every atom of the integer expressions in a condition."""
    match condition:
        case conditions.Compare(a=a, b=b):
            return frozenset().union(*(side.atoms() for side in (a, b) if isinstance(side, IntExpr)))
        case conditions.Member(a=a):
            return a.atoms()
        case conditions.Not(x=x):
            return _atoms(x)
        case conditions.And(parts=parts) | conditions.Or(parts=parts):
            return frozenset().union(*map(_atoms, parts))
        case _:
            return frozenset()


def _integers(env: Mapping[str, Number]) -> dict[str, int]:
    return {n: v for n, v in env.items() if isinstance(v, int) and not isinstance(v, bool)}
