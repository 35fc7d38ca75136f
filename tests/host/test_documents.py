"""What the documents say of the call and what the compiled interface does, call by call: shapes, dtypes, formats, optional
parameters and every line of the return-code tables, read from the documents alone."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache

import pytest

from generator.spec.conditions import Names, evaluate, free, parse
from generator.spec.sizes import parse_size
from generator.twin.verify.cases import case_of
from tests.emit.test_docs import documents, table
from tests.host.calls import ACL_DTYPES, ACL_FORMATS, Call, Tensor, bases, call_of
from tests.host.common import OPERATORS, spec
from tests.host.driver import FOREIGN, PRODUCT, UNBUILT, make

DTYPES = {"FLOAT": "float32", "DOUBLE": "float64"} | {d.upper(): d for d in ACL_DTYPES if d not in ("float32", "float64")}
DTYPES["BFLOAT16"] = "bfloat16"
ATTRIBUTES = {"FLOAT", "DOUBLE", "INT64", "INT32", "INT8", "BOOL", "STRING"}


@dataclass(frozen=True)
class Row:
    """One tensor of a parameter table."""

    name: str
    usage: str
    dtypes: tuple[str, ...]
    formats: tuple[str, ...]
    shapes: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Try:
    """A call with the code that the document promises, by the lines of its table that do, and the product it is made on."""

    what: str
    call: Call
    code: int = 0
    lines: tuple[str, ...] = ()
    product: str = PRODUCT


@dataclass(frozen=True)
class Document:
    """A document as its reader has it."""

    tensors: tuple[Row, ...]
    attributes: tuple[str, ...]
    sizes: Mapping[str, str]  # size -> what it equals
    codes: tuple[tuple[int, str], ...]
    refuses_empty: bool

    def refused(self, words: str) -> tuple[int, tuple[str]]:
        """The code and the text of the one line whose condition has the words."""
        ((code, text),) = {(c, text) for c, text in self.codes if words in text}
        return code, (text,)

    @property
    def conditions(self) -> Iterator[tuple[int, str]]:
        for code, text in self.codes:
            if m := re.fullmatch(r"`([^`]*)` does not hold", text):
                yield code, m[1]


@cache
def document(name: str) -> Document:
    text = documents(name)["en"]
    rows = [r for r in table(text, "Parameter") if r[0] not in ("workspaceSize", "executor")]
    tensors = tuple(
        Row(r[0], r[3], tuple(DTYPES[d] for d in r[4].split(", ")), tuple(r[5].split(", ")), tuple(_shape(s) for s in r[6].split(" or ")))
        for r in rows
        if r[5] != "-"
    )
    sizes = dict(re.findall(r"`(\w+) = ([^`]*)`", text)) | dict(re.findall(r"^- (\w+) = `([^`]*)`$", text, re.MULTILINE))
    codes = tuple((int(r[1]), r[2]) for r in table(text, "Return value"))
    return Document(tensors, tuple(r[0] for r in rows if r[5] == "-"), sizes, codes, "refused with 161002" in text)


def _shape(text: str) -> tuple[str, ...]:
    inside = text.strip()[1:-1]
    return tuple(d.strip() for d in re.split(r",(?![^()]*\))", inside) if d.strip())


class Writer:
    """Calls of one operator, made from its document and one legal call."""

    def __init__(self, name: str) -> None:
        self.name, self.doc = name, document(name)
        params = spec(name).spec.params
        self.symbol = {p.aclnn: p.symbol for p in params}
        self.outputs = {p.aclnn for p in params if p.io in ("out", "inout")}
        case = bases(name)[0][0]
        values = {**dict(case.dims), **dict(case.attrs)}
        forms = range(max(len(r.shapes) for r in self.doc.tensors))
        cases = [case_of(spec(name), values, case.target, combination=case.combination, rank=k, seed=k) for k in forms]
        self.legal = [call_of(spec(name), c) for c in cases]
        self.base = self.legal[0]
        self.env = self._base_env(dict(case.dims))

    def tensor(self, row: Row, call: Call | None = None) -> Tensor:
        return (call or self.base).tensor(self.symbol[row.name])

    def having(self, row: Row, value: Tensor | None, call: Call | None = None) -> Call:
        return (call or self.base).having(self.symbol[row.name], value)

    # sizes ----------------------------------------------------------------------------------------------------------
    def _base_env(self, dims: Mapping[str, int]) -> dict[str, int | float | bool]:
        """Sizes and attributes of the legal call: plain names from the shapes, computed ones from the document."""
        env: dict[str, int | float | bool] = {a: self.base.args[self.symbol[a]] for a in self.doc.attributes}  # type: ignore[misc]
        for row in self.doc.tensors:
            for d, extent in zip(reversed(row.shapes[0]), reversed(self.tensor(row).shape), strict=False):
                if d == "...":
                    break
                if d.isidentifier():
                    env.setdefault(d, extent)
        env |= {n: dims[n] for n, value in self.doc.sizes.items() if "numel" in value and n in dims}
        return self.completed(env)

    def completed(self, env: Mapping[str, int | float | bool]) -> dict[str, int | float | bool]:
        """With the sizes that follow from others."""
        out = dict(env)
        for _ in self.doc.sizes:
            for n, value in self.doc.sizes.items():
                e = None if "numel" in value else parse_size(value)
                whole = {k: v for k, v in out.items() if type(v) is int}
                if e is not None and e.free() <= whole.keys():
                    out[n] = e.evaluate(whole)
        return out

    def at(self, env: Mapping[str, int | float | bool], dtypes: Mapping[str, str] | None = None) -> Call:
        """The legal call with the sizes and attributes of ``env``, and other dtypes."""
        call = self.base
        whole = {k: v for k, v in env.items() if type(v) is int}
        for a in self.doc.attributes:
            call = call.having(self.symbol[a], env[a])
        for row in self.doc.tensors:
            t = self.tensor(row, call)
            shape = row.shapes[0]
            lead = t.shape[: len(t.shape) - len(shape) + 1] if "..." in shape else ()
            extents = (*lead, *(parse_size(d).evaluate(whole) for d in shape if d != "..."))
            call = self.having(row, Tensor(extents, (dtypes or {}).get(row.name, t.dtype), t.format), call)
        return call

    def names(self) -> Names:
        whole = {n for n, v in self.env.items() if type(v) is int}
        return Names(ints=whole, floats={n for n, v in self.env.items() if type(v) is float}, tensors=[r.name for r in self.doc.tensors])

    def holds(self, text: str, env: Mapping[str, int | float | bool], call: Call) -> bool:
        shapes = {r.name: self.tensor(r, call) for r in self.doc.tensors}
        numels = {n: _product(t.shape) for n, t in shapes.items()}
        return evaluate(parse(text, self.names()), env, numels, {n: t.dtype for n, t in shapes.items()})


def _product(shape: tuple[int, ...]) -> int:
    out = 1
    for d in shape:
        out *= d
    return out


def expected(name: str) -> Iterator[Try]:
    """What is tried, the call, and the code the document promises."""
    w = Writer(name)
    yield from (Try(f"legal form {k}", call) for k, call in enumerate(w.legal))
    for part in (_pointers, _dtypes, _formats, _ranks, _extents, _conditions, _empties):
        yield from part(w)
    yield Try("a product that no operator supports", w.base, *w.doc.refused("the product is not supported"), FOREIGN.name)
    yield Try("a product for which no kernel was built", w.base, *w.doc.refused("no kernel was found"), UNBUILT)


def _pointers(w: Writer) -> Iterator[Try]:
    required = next(text for code, text in w.doc.codes if text.endswith(" is a null pointer") and code == 161001)
    for row in w.doc.tensors:
        call = w.having(row, None)
        alone = "given together" not in row.usage
        if re.search(rf"\b{row.name}\b", required):
            yield Try(f"{row.name} null", call, *w.doc.refused(required))
            assert "null pointer" not in row.usage
        elif m := re.search(r"only when `([^`]*)`", row.usage):
            line = w.doc.refused(f"{row.name} is a null pointer and `{m[1]}`")
            yield Try(f"{row.name} null", call, *(() if w.holds(m[1], w.env, w.base) else line))
            for env, other in _sized(w, m[1]):
                yield Try(f"{row.name} null at {env}", w.having(row, None, other), *line)
        elif alone:
            assert "null pointer" in row.usage
            yield Try(f"{row.name} null", call)
        else:
            others = next(m[1] for p in row.usage.split("; ") if (m := re.match(r"given together with (.*) or not at all", p)))
            code, line = next((c, text) for c, text in w.doc.codes if "some but not all" in text and re.search(rf"\b{row.name}\b", text))
            yield Try(f"{row.name} null", call, code, (line,))
            for other in w.doc.tensors:
                if other.name in others.split(", "):
                    call = w.having(other, None, call)
            yield Try(f"{row.name} null with {others}", call)


def _sized(w: Writer, condition: str) -> Iterator[tuple[dict[str, int | float | bool], Call]]:
    """A legal call at which a condition on sizes does not hold, where one size can be changed to that end."""
    conditions = [t for _, t in w.doc.conditions]
    for env, call in _variants(w, set(w.doc.sizes)):
        legal = all(w.holds(t, env, call) for t in conditions) and all(d > 0 for r in w.doc.tensors for d in w.tensor(r, call).shape)
        if legal and not w.holds(condition, env, call):
            yield env, call
            return


def _dtypes(w: Writer) -> Iterator[Try]:
    line = w.doc.refused("the data type of")
    text = next(text for _, text in w.doc.codes if "the data type of" in text)
    combinations = []
    for part in text.partition("none of: ")[2].split("; ") if "none of: " in text else ():
        dtypes: dict[str, str] = {}
        waiting: list[str] = []
        for word in part.split(", "):
            names = word.split(" ")
            waiting.append(names[0])
            if len(names) == 2:
                dtypes |= dict.fromkeys(waiting, DTYPES[names[1]])
                waiting = []
        combinations.append(dtypes)
    for row in w.doc.tensors:
        for dtype in ACL_DTYPES:
            if dtype not in row.dtypes:
                yield Try(f"{row.name} {dtype}", w.having(row, replace(w.tensor(row), dtype=dtype)), *line)
    for c in combinations:
        yield Try(f"dtypes {c}", w.at(w.env, c))
    if combinations:
        varied = list(combinations[0])
        every = [next(r.dtypes for r in w.doc.tensors if r.name == n) for n in varied]
        for chosen in itertools.islice(itertools.product(*every), 200):
            c = dict(zip(varied, chosen, strict=True))
            if c not in combinations:
                yield Try(f"dtypes {c}", w.at(w.env, c), *line)


def _formats(w: Writer) -> Iterator[Try]:
    for row in w.doc.tensors:
        for f in ACL_FORMATS:
            line = () if f in row.formats else w.doc.refused("the format of")
            yield Try(f"{row.name} {f}", w.having(row, replace(w.tensor(row), format=f)), *line)


def _ranks(w: Writer) -> Iterator[Try]:
    line = w.doc.refused("the number of dimensions of")
    for row in w.doc.tensors:
        accepted = {len(s) for s in row.shapes}
        for rank in range(10):
            legal = rank >= len(row.shapes[0]) - 1 if "..." in row.shapes[0] else rank in accepted
            if not legal:
                yield Try(f"{row.name} rank {rank}", w.having(row, replace(w.tensor(row), shape=(2,) * rank)), *line)
    if len(w.legal) > 1 and any("same form of shape" in text for _, text in w.doc.codes):
        for row in w.doc.tensors:
            if len(row.shapes) > 1:
                other = w.having(row, w.legal[1].tensor(w.symbol[row.name]))
                yield Try(f"{row.name} in another form", other, *w.doc.refused("same form of shape"))


def _extents(w: Writer) -> Iterator[Try]:
    """One extent of one tensor, where the document says that all agree."""
    text = next((t for _, t in w.doc.codes if "in the shapes of the parameters do not agree" in t), "")
    named = set(text.removesuffix(" in the shapes of the parameters do not agree").split(", "))
    having = {n: [r for r in w.doc.tensors if n in r.shapes[0]] for n in named}
    for n, rows in having.items():
        for row in rows if len(rows) > 1 else ():
            dims = row.shapes[0]
            for k, d in enumerate(dims):
                if d == n:
                    shape = list(w.tensor(row).shape)
                    shape[k - len(dims) if "..." in dims[:k] else k] += 1  # dims after leading ones count from the end
                    yield Try(f"{n} of {row.name} + 1", w.having(row, replace(w.tensor(row), shape=tuple(shape))), *w.doc.refused(text))
    for code, line in w.doc.codes:
        if m := re.match(r"the number of elements of (\w+) is not `", line):
            row = next(r for r in w.doc.tensors if r.name == m[1])
            (count,) = w.tensor(row).shape
            yield Try(f"{row.name} + 1", w.having(row, replace(w.tensor(row), shape=(count + 1,))), code, (line,))


def _conditions(w: Writer) -> Iterator[Try]:
    """For each condition sizes, attributes or dtypes that break it (and others of the same code), and some at which all hold."""
    conditions = list(w.doc.conditions)
    computed = {n for n, value in w.doc.sizes.items() if "numel" not in value}
    broken: dict[str, int] = {text: 0 for _, text in conditions}
    alone = dict(broken)
    held = 0
    for env, call in _variants(w, computed):
        if any(d < 0 for r in w.doc.tensors for d in w.tensor(r, call).shape):
            continue
        failing = [(c, t) for c, t in conditions if not w.holds(t, env, call)]
        without = {r.name for r in w.doc.tensors if 0 in w.tensor(r, call).shape}
        if without and (w.doc.refuses_empty or without > w.outputs):
            continue
        if not failing and not without and held < 100:
            held += 1
            yield Try(f"all hold at {env}", call)
        elif len({c for c, _ in failing}) == 1 and (
            any(broken[t] < 6 for _, t in failing) or (len(failing) == 1 and alone[failing[0][1]] < 3)
        ):
            broken |= {t: broken[t] + 1 for _, t in failing}
            alone |= {t: alone[t] + 1 for _, t in failing if len(failing) == 1}
            texts = tuple(f"`{t}` does not hold" for _, t in failing)
            yield Try(f"{texts} at {env}", call, failing[0][0], texts)
    assert all(broken.values()), f"no call breaks {[t for t, n in broken.items() if not n]}"


def _variants(w: Writer, computed: set[str]) -> Iterator[tuple[dict[str, int | float | bool], Call]]:
    """The legal call with one size or attribute changed, or with one and other documented dtypes."""
    names = sorted(set().union(*(free(parse(t, w.names())) for _, t in w.doc.conditions), *_counted(w)))
    base = sorted(set(names) - computed | {f for n in names if n in computed for f in _needs(w, n)})
    bounds = {int(c) + k for _, t in w.doc.conditions for c in re.findall(r"\b\d{1,6}\b", t) for k in (-16, -1, 0, 1, 16)}
    for name in base:
        value = w.env[name]
        wanted = sorted(bounds | set(range(-1, 80))) if type(value) is int else [-1.0, -1e-3, 0.0, 0.5]
        for v, other in itertools.product(wanted, [None, *(b for b in base if b != name and b not in w.doc.attributes)]):
            if name not in w.doc.attributes and v < 0:
                continue
            env = w.completed({**w.env, name: v} | ({other: 24} if other else {}))
            yield env, w.at(env)
            for dtype in {d for r in w.doc.tensors for d in r.dtypes} if name in w.doc.attributes else ():
                if all(dtype in r.dtypes for r in w.doc.tensors):
                    yield env, w.at(env, {r.name: dtype for r in w.doc.tensors})


def _needs(w: Writer, name: str) -> set[str]:
    """What a computed size is computed from."""
    found = set(parse_size(w.doc.sizes[name]).free())
    return {f for n in found for f in (_needs(w, n) if n in w.doc.sizes and "numel" not in w.doc.sizes[n] else {n})}


def _counted(w: Writer) -> Iterator[set[str]]:
    """The plain sizes of tensors whose elements a condition counts."""
    for _, text in w.doc.conditions:
        for tensor in re.findall(r"numel\((\w+)\)", text):
            yield {d for r in w.doc.tensors if r.name == tensor for d in r.shapes[0] if d.isidentifier()}


def _empties(w: Writer) -> Iterator[Try]:
    if not w.doc.refuses_empty:
        return
    code, line = w.doc.refused(" has no elements")
    for row in w.doc.tensors:
        if re.search(rf"\b{row.name}\b", line[0]):
            shape = w.tensor(row).shape
            yield Try(f"{row.name} empty", w.having(row, replace(w.tensor(row), shape=(0, *shape[1:]))), code, line)


@pytest.mark.parametrize("name", OPERATORS)
def test_the_interface_does_what_the_document_says(name: str, record_property: pytest.FixtureRequest) -> None:
    tried = list(expected(name))
    record_property("calls", len(tried))  # type: ignore[operator]
    wrong = []
    for product in dict.fromkeys(t.product for t in tried):
        here = [t for t in tried if t.product == product]
        answers = make((t.call for t in here), on=product)
        pairs = [(t, a) for t, a in zip(here, answers, strict=True) if a.status != t.code]
        wrong += [f"{t.what}: {a.status}, documented {t.code}: {a.message}" for t, a in pairs]
    assert not wrong, f"{len(wrong)} of {len(tried)}\n" + "\n".join(wrong[:20])
    assert len(tried) > 40
    assert {line for t in tried for line in t.lines} == {text for _, text in document(name).codes}, "a line of the table that no call tries"


@pytest.mark.parametrize("name", OPERATORS)
def test_the_chinese_document_has_the_same_tables(name: str) -> None:
    both = documents(name)
    zh, en = table(both["zh"], "参数名"), table(both["en"], "Parameter")
    for a, b in zip(zh, en, strict=True):
        assert a[0] == b[0]
        assert [c.replace("、", ", ").replace("或", " or ") for c in a[4:7]] == b[4:7]
        assert (a[7] in ("√", "-"), a[7] == "-") == (b[7] in ("yes", "-"), b[7] == "-")
        assert _exact(a[3]) == _exact(b[3])
        assert ("空指针" in a[3]) == ("null pointer" in b[3] or "given together" in b[3])
    zh, en = table(both["zh"], "返回值"), table(both["en"], "Return value")
    for a, b in zip(zh, en, strict=True):
        assert a[:2] == b[:2]
        names = [p.aclnn for p in spec(name).spec.params]
        assert [n for n in names if re.search(rf"(?<![A-Za-z0-9_]){n}(?![A-Za-z0-9_])", a[2])] == [
            n for n in names if re.search(rf"\b{n}\b", b[2])
        ]
        assert _exact(a[2]) == _exact(b[2])


def _exact(text: str) -> list[str]:
    """The code spans of a text: the same in every language."""
    return re.findall(r"`[^`]*`", text)
