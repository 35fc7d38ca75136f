"""Shape inference of one operator as Python over PyTorch's shapes, which may be symbolic: sizes, checks, outputs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from generator.emit.errors import EmitError
from generator.emit.numpy_expr import Names, integer
from generator.emit.shapes import combinations
from generator.formula.checked import CheckedSpec
from generator.formula.ranges import names_of
from generator.spec.conditions import free, parse
from generator.spec.conditions import text as condition_text
from generator.spec.integer import Func, IntExpr, product
from generator.spec.model import Param

__all__ = ["TorchShapes", "torch_dtype"]


def torch_dtype(dtype: str) -> str:
    """A dtype as PyTorch names it."""
    return f"torch.{dtype}"


class TorchShapes:
    """The lines of ``_infer``: from the tensors and attributes to each output's shape and dtype. ``names`` spells symbols."""

    def __init__(self, checked: CheckedSpec, names: Names) -> None:
        self.checked, self.spec, self.program = checked, checked.spec, checked.program
        self.names = names
        self.inputs = [p for p in self.spec.params if p.io in ("in", "inout")]
        self.required = [p for p in self.inputs if not p.optional]
        ranked = [p for p in self.required if p.ranks]
        self.leader = ranked[0] if ranked else None

    def lines(self) -> Iterator[str]:
        """Checks first what the first phase of the aclnn call checks first: dtypes, then shapes, then conditions."""
        yield from self._dtypes()
        yield from self._extents()
        yield from self._binds()
        yield from self._agreements()
        yield from self._conditions()

    # dtypes ---------------------------------------------------------------------------------------------------------
    def _dtypes(self) -> Iterator[str]:
        floats = [p for p in self.required if self.program.tensors[p.symbol].kind == "float"]
        wide = f"{self.names(floats[0].symbol)}.dtype == torch.float64" if floats else "False"
        yield f"wide = {wide}  # every float in float64: computed by the reference"
        variables = self._variables()
        for v, owner in variables.items():
            yield f"{self.names(v)} = {self.names(owner.symbol)}.dtype"
        for p in self.inputs:
            if p.dtype in variables and variables[p.dtype] is p:
                continue
            name, wanted = self.names(p.symbol), self.kind(p)
            yield from self._guarded(p, [f'_has_dtype({name}, "{p.name}", {wanted})'])
        if variables:
            rows = ", ".join(_tuple([torch_dtype(c[v]) for v in variables]) for c in combinations(self.spec))
            said = ", ".join(f"{o.name} {{{self.names(v)}}}" for v, o in variables.items())
            yield f"supported = ({rows},)"
            yield _check(f"wide or {_tuple([self.names(v) for v in variables])} in supported", f"these dtypes are not supported: {said}")

    def kind(self, p: Param) -> str:
        """The dtype of a parameter as Python, float64 for floats when everything is."""
        dtype = self.dtype(p)
        return f"torch.float64 if wide else {dtype}" if self.program.tensors[p.symbol].kind == "float" else dtype

    def _guarded(self, p: Param, lines: list[str]) -> Iterator[str]:
        """``lines``, for an optional tensor only when it is given."""
        if not p.optional:
            yield from lines
        elif lines:
            yield f"if {self.names(p.symbol)} is not None:"
            yield from (f"    {line}" for line in lines)

    def _variables(self) -> dict[str, Param]:
        """Dtype variables with the required input that says what each is."""
        known = {v for c in combinations(self.spec) for v in c}
        out: dict[str, Param] = {}
        for p in self.required:
            if p.dtype in known:
                out.setdefault(p.dtype or "", p)
        missing = known - out.keys()
        if missing:
            raise EmitError(f"{self.checked.path}: no required input has the dtype {', '.join(sorted(missing))}")
        return out

    def dtype(self, p: Param) -> str:
        """The dtype of a parameter, wide ones aside."""
        known = {v for c in combinations(self.spec) for v in c}
        return self.names(p.dtype or "") if p.dtype in known else torch_dtype(p.dtype or "float32")

    # extents --------------------------------------------------------------------------------------------------------
    def _forms(self, p: Param) -> list[list[str | list[str]]]:
        return [list(p.shape or []), *p.ranks]

    def _extents(self) -> Iterator[str]:
        """``x_shape``, the extents the formula sees, of every input; ``form``, which of the accepted ranks is in use."""
        if self.leader is not None:
            name = self.names(self.leader.symbol)
            ranks = {_rank(f): k for k, f in enumerate(self._forms(self.leader))}
            yield f"form = {ranks}.get({name}.dim(), -1)"
            allowed = " or ".join(map(str, ranks))
            yield _check("form >= 0", f"{self.leader.name} has {{{name}.dim()}} dims, expected {allowed}")
        for p in self.inputs:
            name = self.names(p.symbol)
            yield from self._guarded(p, list(self._shape_of(p, name)))
        for symbol, (owner, at) in self._flattened().items():
            name = self.names(owner.symbol)
            parts = [f"{name}.shape[{_start(f, at)}:{_start(f, at) + _width(f, at)}]" for f in self._forms(owner)]
            yield f"{self._axes(symbol)} = {_choice([f'tuple({t})' for t in parts])}"

    def _shape_of(self, p: Param, name: str) -> Iterator[str]:
        if p.flat is not None:
            yield _check(f"{name}.dim() == 1", f"{p.name} has {{{name}.dim()}} dims, expected 1")
            yield f"{name}_shape = ({name}.shape[0],)"
            return
        forms = self._forms(p)
        pack = next((k for k, d in enumerate(forms[0]) if isinstance(d, str) and d.startswith("*")), None)
        if pack is not None:
            behind = len(forms[0]) - pack - 1
            least = pack + behind
            if least:
                yield _check(f"{name}.dim() >= {least}", f"{p.name} has {{{name}.dim()}} dims, expected at least {least}")
            stop = f"{name}.dim() - {behind}" if behind else ""
            parts = [f"{name}.shape[{k}]" for k in range(pack)] + [f"math.prod({name}.shape[{pack or ''}:{stop}])"]
            parts += [f"{name}.shape[{k}]" for k in range(-behind, 0)]
            yield f"{name}_shape = {_tuple(parts)}"
            if self._pack_owner(str(forms[0][pack])) is p:
                yield f"{self._axes(str(forms[0][pack]))} = tuple({name}.shape[{pack or ''}:{stop}])"
            return
        ranks = [_rank(f) for f in forms]
        if p is not self.leader:
            wanted = _choice([str(r) for r in ranks])
            shown = wanted if wanted.isdigit() else f"{{{wanted}}}"
            yield _check(f"{name}.dim() == {wanted}", f"{p.name} has {{{name}.dim()}} dims, expected {shown}")
        yield f"{name}_shape = {_choice([_tuple([_extent(name, f, k) for k in range(len(f))]) for f in forms])}"

    def _flattened(self) -> dict[str, tuple[Param, int]]:
        """Canonical sizes that an alternative rank splits, with the required input that shows the parts."""
        out: dict[str, tuple[Param, int]] = {}
        for p in self.required:
            for f in p.ranks:
                for at, d in enumerate(f):
                    if isinstance(d, list):
                        out.setdefault(str((p.shape or [])[at]), (p, at))
        return out

    def _pack_owner(self, pack: str) -> Param | None:
        return next((p for p in self.required if pack in (p.shape or [])), None)

    def _axes(self, size: str) -> str:
        return self.names(f"{re.sub(r'[^A-Za-z0-9_]', '', size)}_axes")

    # sizes ----------------------------------------------------------------------------------------------------------
    def _canonical(self, p: Param) -> tuple[IntExpr, ...]:
        t = self.program.tensors[p.symbol]
        return (t.flat.size,) if t.flat is not None else t.shape

    def _binds(self) -> Iterator[str]:
        """Each size from the first extent that gives it; derived sizes as soon as they can be computed."""
        known = {p.symbol for p in self.spec.params if p.io == "attr"}
        derived = dict(self.checked.derived)
        self.used: set[tuple[str, int]] = set()
        pending = [(p, k, e) for p in self.required for k, e in enumerate(self._canonical(p))]
        for p, k, e in pending:
            if e.symbol is not None and e.symbol not in known and e.symbol not in derived:
                yield f"{self.names(e.symbol)} = {self.names(p.symbol)}_shape[{k}]"
                known.add(e.symbol)
                self.used.add((p.symbol, k))
        changed = True
        while changed:
            changed = False
            for name, e in derived.items():
                if name not in known and e.free() <= known:
                    yield self._derived(name, e)
                    known.add(name)
                    changed = True
            for p, k, e in pending:
                unknown = [n for n in sorted(e.free()) if n not in known and n not in derived]
                if len(unknown) == 1 and e.is_affine_in(unknown) and (step := e.coefficient(unknown[0]).value):
                    rest = integer(e.substitute({unknown[0]: 0}), self.names)
                    text = (
                        f"({self.names(p.symbol)}_shape[{k}] - {rest.at(5)})" if rest.text != "0" else f"{self.names(p.symbol)}_shape[{k}]"
                    )
                    yield f"{self.names(unknown[0])} = {text}" + (f" // {step}" if step != 1 else "")
                    known.add(unknown[0])
                    changed = True
        missing = [d for d in self.program.dims if d not in known]
        if missing:
            raise EmitError(f"{self.checked.path}: no required input tells the size {', '.join(missing)}")

    def _derived(self, name: str, e: IntExpr) -> str:
        text = self._counted(integer(e, self.names).text)
        divisors = [a.b for a in e.atoms() if isinstance(a, Func) and a.op == "floordiv" and a.b.value is None]
        dim = self.spec.dims.get(name)
        if divisors and dim is not None and dim.when_empty is not None:
            return f"{self.names(name)} = {text} if {integer(product(divisors), self.names).text} != 0 else {dim.when_empty}"
        return f"{self.names(name)} = {text}"

    def _counted(self, text: str) -> str:
        return re.sub(r"numel\((\w+)\)", lambda m: f"{self.names(m[1])}.numel()", text)

    def _agreements(self) -> Iterator[str]:
        for p in self.inputs:
            yield from self._guarded(p, [*self._agreeing_extents(p), *self._agreeing_axes(p)])
        for g in self.spec.groups:
            ours = [self.names(m) for m in g.members if any(p.symbol == m for p in self.inputs)]
            if len(ours) > 1:
                given = ", ".join(f"{n} is None" for n in ours)
                yield _check(f"len({{{given}}}) == 1", f"{', '.join(g.members)} are given all or none")

    def _agreeing_extents(self, p: Param) -> Iterator[str]:
        name = self.names(p.symbol)
        for k, e in enumerate(self._canonical(p)):
            if (p.symbol, k) not in self.used:
                wanted = integer(e, self.names).text
                said = f"{e}" if e.value is not None else f"{e} = {{{wanted}}}"
                yield _check(f"{name}_shape[{k}] == {wanted}", f"extent {k} of {p.name} is {{{name}_shape[{k}]}}, expected {said}")

    def _agreeing_axes(self, p: Param) -> Iterator[str]:
        """Leading dims that several tensors flatten agree one by one."""
        name, split = self.names(p.symbol), self._flattened()
        for k, d in enumerate(p.shape or []):
            owner = split[d][0] if d in split else self._pack_owner(d) if d.startswith("*") else None
            if owner is None or owner is p:
                continue
            if d.startswith("*"):
                behind = len(p.shape or []) - k - 1
                part = f"{name}.shape[{k or ''}:{f'{name}.dim() - {behind}' if behind else ''}]"
            else:
                part = _choice([f"{name}.shape[{_start(f, k)}:{_start(f, k) + _width(f, k)}]" for f in self._forms(p)])
            agree = f"tuple({part}) == {self._axes(d)}"
            yield _check(agree, f"the leading dims of {p.name} do not agree with those of {owner.name}")

    def _conditions(self) -> Iterator[str]:
        texts = [d.where for d in self.spec.dims.values()] + [p.where for p in self.spec.params] + [c.that for c in self.spec.constraints]
        known = {*self.program.dims, *(p.symbol for p in self.spec.params if p.io == "attr")}
        for text in texts:
            if text is None:
                continue
            condition = parse(text, names_of(self.spec))
            if not free(condition) <= known:
                continue
            said = self._counted(condition_text(condition, "spec", self.names))
            said = re.sub(r"dtype\((\w+)\) (==|!=) (\w+)", r"\1.dtype \2 torch.\3", said)
            said = re.sub(r"dtype\((\w+)\) in \{([^}]*)\}", lambda m: f"{m[1]}.dtype in ({_torch(m[2])},)", said)
            said = re.sub(r" in \{([^}]*)\}", lambda m: f" in ({m[1]}{'' if ',' in m[1] else ','})", said)
            yield _check(said, f"{text} does not hold".replace("{", "{{").replace("}", "}}"))
        if self.spec.policies.empty == "refuse":
            for p in self.required:
                yield _check(f"{self.names(p.symbol)}.numel() > 0", f"{p.name} has no elements")

    # outputs --------------------------------------------------------------------------------------------------------
    def output(self, p: Param) -> str:
        """The shape of an output, in the rank the inputs have."""
        t = self.program.tensors[p.symbol]
        if t.flat is not None:
            return f"({integer(t.flat.size, self.names).text},)"
        split = self._flattened()
        parts = []
        for e, d in zip(t.shape, p.shape or [], strict=True):
            parts.append(f"*{self._axes(d)}" if d in split or d.startswith("*") else integer(e, self.names).text)
        return _tuple(parts)


def _check(condition: str, message: str) -> str:
    """A check whose message, the inside of an f-string, is made only when it fails."""
    form = "f" if "{" in message else ""
    return f'torch._check({condition}, lambda: {form}"{message}")'


def _tuple(parts: list[str]) -> str:
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"


def _extent(name: str, form: list[str | list[str]], at: int) -> str:
    """One canonical extent of a tensor that has the given form."""
    return " * ".join(f"{name}.shape[{_start(form, at) + j}]" for j in range(_width(form, at)))


def _torch(dtypes: str) -> str:
    return ", ".join(torch_dtype(d.strip()) for d in dtypes.split(","))


def _rank(form: list[str | list[str]]) -> int:
    return sum(len(d) if isinstance(d, list) else 1 for d in form)


def _start(form: list[str | list[str]], at: int) -> int:
    return _rank(form[:at])


def _width(form: list[str | list[str]], at: int) -> int:
    d = form[at]
    return len(d) if isinstance(d, list) else 1


def _choice(options: list[str]) -> str:
    """The option of the form in use."""
    if len(set(options)) == 1:
        return options[0]
    if len(options) == 2:
        return f"({options[0]} if form == 0 else {options[1]})"
    return f"[{', '.join(f'lambda: {o}' for o in options)}][form]()"
