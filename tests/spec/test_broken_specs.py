"""Every kind of broken spec is answered by located problems. A case edits a good spec in one place; ``§`` in the new text
marks where the problem stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from generator.formula.checked import check
from generator.spec.errors import Problem, SpecError

GOOD = (Path(__file__).parent / "good.yaml").read_text(encoding="utf-8")

A = "a[t, i, d] = x[t, i, d] * scale[d]"
Z = "z[t, one(i)] = sum[d](a[t, i, d] * w[one(i), d])"
TOTAL = "total[t] = sum[i, d](a[t, i, d])"
Y = "y[t, i, d] = where(a[t, i, d] > 0, a[t, i, d], 0) + x[idx[t], i, d]"

# name, old text, new text, words of the message
CASES: list[tuple[str, str, str, list[str]]] = [
    # the file and its keys
    ("not YAML", "family: tests", "family: §]tests", ["not valid YAML"]),
    ("duplicate key", "family: tests", "family: tests\n§family: again", ["given twice", "'family'", "line 2"]),
    ("a foreign tag", "family: tests", "family: §!!python/name:os.system x", ["tag is not allowed", "python"]),
    ("unknown key of the spec", "groups:", "§grups:", ["unknown key", "'grups'", "did you mean 'groups'?"]),
    (
        "unknown key of a parameter",
        "    optional: true\n    fill: 1",
        "    §optionl: true\n    fill: 1",
        ["unknown key", "did you mean 'optional'?"],
    ),
    ("unknown key of a dim", "n: {where:", "n: {§were:", ["unknown key", "did you mean 'where'?"]),
    ("missing key", "  - symbol: w\n    name: w\n", "  - §symbol: w\n", ["a key is missing", "'name:'"]),
    ("value not allowed", "io: attr\n    type: float", "io: §atr\n    type: float", ["not allowed", "did you mean 'attr'?"]),
    ("unknown product", "products: [Ascend910B]", "products: [§Ascend910]", ["not allowed", "Ascend910B"]),
    ("text where a list belongs", "groups:\n  - members: [saved, total]", "groups:\n  - members: §saved", ["wrong type", "a list"]),
    ("number where text belongs", "name: Mixer", "name: §12", ["wrong type", "12", "text"]),
    ("status code not allowed", "code: PARAM_INVALID", "code: §PARAM_INVALD", ["did you mean 'PARAM_INVALID'?"]),
    # HF32
    (
        "HF32 allowed by nothing",
        "dtypes:",
        "hf32: {attr: §round, values: [1]}\ndtypes:",
        ["no attribute has this name", "did you mean 'rounds'?"],
    ),
    ("HF32 allowed by a tensor", "dtypes:", "hf32: {attr: §scale, values: [1]}\ndtypes:", ["no attribute has this name", "rounds"]),
    ("HF32 allowed by a float", "dtypes:", "hf32: {attr: §eps, values: [1]}\ndtypes:", ["of type 'float'", "rounds"]),
    ("HF32 never allowed", "dtypes:", "hf32: {attr: rounds, values: §[]}\ndtypes:", ["no value allows HF32", "values: [1]"]),
    ("HF32 allowed twice", "dtypes:", "hf32: {attr: rounds, values: [1, 3, §1]}\ndtypes:", ["given twice", "1"]),
    (
        "HF32 allowed out of range",
        "dtypes:",
        "hf32: {attr: rounds, values: [1, §11]}\ndtypes:",
        ["out of range", "11", "1 <= rounds <= 10"],
    ),
    (
        "HF32 where nothing is float32",
        "dtypes:",
        "compute: float16\n§hf32: {attr: rounds, values: [1]}\ndtypes:",
        ["stands for float32", "compute: float16"],
    ),
    # names
    ("operator's name", "name: Mixer", "name: §Mix-er", ["operator's name", "is not a name"]),
    ("symbol is a C++ keyword", "symbol: idx\n", "symbol: §register\n", ["C++ keyword", "'register'"]),
    ("graph name is a C++ keyword", "name: idx\n", "name: §delete\n", ["graph's name", "C++ keyword"]),
    ("aclnn name is a C++ keyword", "aclnn: index\n", "aclnn: §switch\n", ["aclnn call's name", "C++ keyword"]),
    ("dim is a C++ keyword", "  D: {where: D % 16 == 0}", "  D: {where: D % 16 == 0}\n  §int: {value: D}", ["dim's name", "C++ keyword"]),
    ("reserved name", "symbol: idx\n", "symbol: §inf\n", ["reserved", "constant"]),
    ("duplicate symbol", "symbol: idx\n", "symbol: §w\n", ["symbol is taken", "'w'"]),
    ("symbol of a dim", "symbol: idx\n", "symbol: §T\n", ["symbol is taken", "a dim"]),
    ("duplicate graph name", "name: idx\n", "name: §w\n", ["one name in the graph", "'w'"]),
    ("duplicate aclnn name", "aclnn: index\n", "aclnn: §weight\n", ["one name in the aclnn call", "'weight'"]),
    ("duplicate segment", "two: [n, n]}", "two: [n, n]}\n  L: {§one: [n]}", ["segment's name is taken", "'K'"]),
    # dims, conditions, attributes
    ("condition that is none", 'where: "n in {4, 6, 8}"', 'where: "§n + 1"', ["not a condition"]),
    ("unknown name in a condition", "where: D % 16 == 0", "where: D % §E == 0", ["not defined", "'E'"]),
    ("condition on another dim", "where: D % 16 == 0", "where: §T % 16 == 0", ["does not name its dim"]),
    ("a set of texts", 'where: "n in {4, 6, 8}"', 'where: "n in §4"', ["set of integers"]),
    ("dim without a source", "  D: {where: D % 16 == 0}", "  D: {where: D % 16 == 0}\n  §Q: {}", ["no input's shape", "'Q'"]),
    (
        "dims derived from each other",
        "  D: {where: D % 16 == 0}",
        "  D: {where: D % 16 == 0}\n  P: {value: §Q}\n  Q: {value: P}",
        ["derived from each other"],
    ),
    ("when_empty without value", "  T: {about", "  T: {§when_empty: 1, about", ["when_empty"]),
    ("unknown name in a value", "  D: {where: D % 16 == 0}", "  D: {where: D % 16 == 0}\n  P: {value: 2*§m}", ["not defined", "'m'"]),
    ("division that is not integer", "  D: {where: D % 16 == 0}", "  D: {where: D % 16 == 0}\n  P: {value: §D/2}", ["'//'"]),
    ("default out of range", "default: 3", "default: §30", ["out of range", "30", "1 <= rounds <= 10"]),
    ("default of another type", "default: 3", "default: §2.5", ["not of the attribute's type", "int"]),
    (
        "attribute without type",
        "  - symbol: rounds\n    name: rounds\n    aclnn: rounds\n    io: attr\n    type: int\n",
        "  - §symbol: rounds\n    name: rounds\n    aclnn: rounds\n    io: attr\n",
        ["no type"],
    ),
    ("range of another attribute", "where: eps >= 0", "where: §rounds >= 0", ["does not name its attribute"]),
    ("shape of an attribute", "type: float\n", "type: float\n    §shape: [T]\n", ["'shape' is not for an attribute"]),
    # tensors
    ("default of a tensor", "    shape: [K, D]\n", "    shape: [K, D]\n    §default: 1\n", ["'default' is not for a tensor"]),
    (
        "neither shape nor flat",
        "  - symbol: idx\n    name: idx\n    aclnn: index\n    io: in\n    shape: [T]\n",
        "  - §symbol: idx\n    name: idx\n    aclnn: index\n    io: in\n",
        ["neither shape nor flat"],
    ),
    (
        "no dtype",
        "  - symbol: idx\n    name: idx\n    aclnn: index\n    io: in\n    shape: [T]\n    dtype: int32\n",
        "  - §symbol: idx\n    name: idx\n    aclnn: index\n    io: in\n    shape: [T]\n",
        ["no dtype"],
    ),
    ("bad dtype", "dtype: int32", "dtype: §it32", ["no such dtype", "did you mean 'int32'?"]),
    ("dtype variable without combination", "dtype: int32", "dtype: §Index", ["no combination", "'Index'"]),
    ("combination that does not cover", "dtypes:\n  - {X: float16}\n", "dtypes:\n  - {X: float16, §V: float32}\n", ["'V'"]),
    ("combination without a variable", "dtypes:\n  - {X: float16}\n", "dtypes:\n  - §{}\n", ["does not cover", "'X'"]),
    ("combination twice", "  - {X: float32}", "  - {X: float32}\n  - §{X: float16}", ["given twice"]),
    ("dtype variable of two kinds", "dtypes:\n  - {X: float16}", "dtypes:\n  §- {X: int32}", ["one kind", "'X'"]),
    ("unknown dim of a shape", "shape: [K, D]", "shape: [K, §E]", ["not defined", "'E'"]),
    ("rank that does not flatten", "ranks: [[[B, S], n, D]]", "ranks: [§[B, S, n, D]]", ["does not flatten"]),
    ("rank that changes a dim", "ranks: [[[B, S], n, D]]", "ranks: [[[B, S], §m, D]]", ["changes a dim", "'m'"]),
    ("merged dim of the formula", "ranks: [[[B, S], n, D]]", "ranks: [[[§T, S], n, D]]", ["merged dim", "'T'"]),
    ("order with an unknown axis", "order: [r, i, t]", "order: [r, §j, t]", ["unknown axis", "'j'"]),
    ("order that leaves out an axis", "order: [r, i, t]", "order: §[r, i]", ["leaves out", "t"]),
    ("flat buffer too small", "size: 8*rounds*T", "size: §4*rounds*T", ["not proved to hold"]),
    ("two packs", "shape: [K, D]", 'shape: ["*a", §"*b"]', ["two packs"]),
    ("optional_when without optional", "    shape: [K, D]\n", "    shape: [K, D]\n    §optional_when: T == 1\n", ["optional_when"]),
    ("alias of nothing", "    aclnn: out\n    io: out\n", "    aclnn: out\n    io: out\n    aliases: §xx\n", ["unknown input", "'xx'"]),
    # groups, constraints, gradients, tests
    ("group of an unknown parameter", "members: [saved, total]", "members: [saved, §totl]", ["unknown parameter", "did you mean 'total'?"]),
    ("group of a parameter that is not optional", "members: [saved, total]", "members: [saved, §y]", ["not optional", "'y'"]),
    ("flag of an unknown output", "outputs: [saved, total]", "outputs: [saved, §totl]", ["names no output", "did you mean 'total'?"]),
    ("flag of an input", "outputs: [saved, total]", "outputs: [saved, total, §scale]", ["names no output", "'scale'"]),
    ("flag of an output that is always there", "outputs: [saved, total]", "outputs: [saved, total, §z]", ["always given", "'z'"]),
    ("flag of nothing", "outputs: [saved, total]", "outputs: §[]", ["one output or more"]),
    ("flag of part of a group", "outputs: [saved, total]", "outputs: §[total]", ["given together", "outputs: [saved, total]"]),
    (
        "flag of outputs that come alone",
        "  - members: [saved, total]\nflags:\n  - {name: keep, outputs: [saved, total]",
        "  - members: [saved, scale]\nflags:\n  - {name: keep, outputs: §[saved, total]",
        ["given together", "[saved, total]"],
    ),
    (
        "two flags of one output",
        "given: 1, absent: 0}",
        "given: 1, absent: 0}\n  - {name: kept, outputs: [§saved, total]}",
        ["two flags", "'saved'", "flag 'keep' only"],
    ),
    (
        "flag under a condition",
        "    aclnn: totalOptional\n    io: out\n",
        "    aclnn: totalOptional\n    io: out\n    optional_when: T == 1\n",
        ["missing under a condition", "'total'"],
    ),
    ("flag with a parameter's name", "{name: keep,", "{name: §rounds,", ["taken in the graph", "'rounds' is parameter 6"]),
    ("flag with a C++ keyword", "{name: keep,", "{name: §switch,", ["flag's name in the graph", "C++ keyword"]),
    ("flag with one value", "given: 1, absent: 0}", "given: §0, absent: 0}", ["two values are the same", "0"]),
    ("flag with values of two types", "given: 1, absent: 0}", "given: §true, absent: 0}", ["of one type", "True and 0"]),
    ("flag beyond an attribute", "given: 1, absent: 0}", "given: §9223372036854775808, absent: 0}", ["does not fit", "2^63"]),
    ("flag of text", "given: 1, absent: 0}", "given: §yes please, absent: 0}", ["wrong type"]),
    ("unknown key of a flag", "given: 1, absent: 0}", "§givn: 1, absent: 0}", ["unknown key", "did you mean 'given'?"]),
    ("constraint with an unknown name", 'that: "T * D <=', 'that: "T * §E <=', ["not defined", "'E'"]),
    ("element count of nothing", 'that: "T * D <= 1000000000"', 'that: "§numel(q) <= 8"', ["numel", "'q'"]),
    ("binds without forward", "segments:", "§binds: {x: y}\nsegments:", ["'binds' is for gradients"]),
    ("binds an unknown parameter", "segments:", "forward: Other\nbinds: {§xx: y}\nsegments:", ["unknown parameter", "did you mean 'x'?"]),
    ("test value out of range", "rounds: [1, 3]}", "rounds: [1, §33]}", ["out of range", "33"]),
    ("test of an unknown dim", "values: {T: [1, 7]", "values: {§TT: [1, 7]", ["no dim", "did you mean 'T'?"]),
    ("test input that is none", "inputs: {x:", "inputs: {§xx:", ["no input", "did you mean 'x'?"]),
    ("empty test range", "inputs: {x: [-1.0, 1.0]}", "inputs: {x: §[1.0, -1.0]}", ["range is empty"]),
    (
        "a listed size's dtypes are of no combination",
        "bench:\n  - sizes: {T: 1024, n: 4, D: 256, rounds: 3}",
        "bench:\n  - sizes: {T: 1024, n: 4, D: 256, rounds: 3}\n    dtypes: §{X: bfloat16}",
        ["no dtype combination", "X=bfloat16", "X=float16; X=float32"],
    ),
    (
        "a listed size's rank is not there",
        "bench:\n  - sizes: {T: 1024, n: 4, D: 256, rounds: 3}",
        "bench:\n  - sizes: {T: 1024, n: 4, D: 256, rounds: 3}\n    rank: §2",
        ["no such alternative rank", "0 .. 1"],
    ),
    ("benchmark size out of range", "n: 4, D: 256", "n: §5, D: 256", ["out of range", "n in {4, 6, 8}"]),
    # the formula's syntax
    ("syntax error", TOTAL, "total[t] = sum[i, d]§(a[t, i, d]", ["not valid syntax"]),
    ("lambda", TOTAL, "total[t] = §lambda: 1", ["a lambda is not part of the formula language"]),
    ("comprehension", TOTAL, "total[t] = §[q for q in w]", ["a comprehension is not part"]),
    ("attribute access", TOTAL, "total[t] = §w.sum", ["an attribute access", "'w.sum'"]),
    ("if-expression", TOTAL, "total[t] = §1 if eps else 2", ["an if-expression", "where(condition, a, b)"]),
    ("augmented assignment", TOTAL, "§total[t] += 1", ["AugAssign", "a[t] = a[t] + ..."]),
    ("while", TOTAL, "§while eps:\n      total[t] = 1", ["While", "for r in range"]),
    ("loop over something else", "for r in range(rounds):", "for r in §rounds:", ["range"]),
    ("string", TOTAL, "total[t] = §'one'", ["the constant 'one'"]),
    ("unknown function", TOTAL, "total[t] = §sqrrt(eps)", ["no function", "did you mean 'sqrt'?"]),
    ("arity", TOTAL, "total[t] = §sqrt(eps, eps)", ["takes 1 argument", "2 given"]),
    ("reduction without axes", TOTAL, "total[t] = §max(eps, 1)", ["over which axes", "maximum(a, b)"]),
    ("unknown dtype of a cast", TOTAL, "total[t] = cast(eps, §float23)", ["cast needs a dtype", "did you mean 'float32'?"]),
    ("slice as an index", TOTAL, "total[t] = w[§1:2, 0]", ["a slice is not an index"]),
    # the formula's meaning
    ("undefined tensor", A, "a[t, i, d] = §xx[t, i, d] * scale[d]", ["not defined", "did you mean 'x'?"]),
    ("undefined name", A, "a[t, i, d] = x[t, i, d] * §epz", ["not defined", "did you mean 'eps'?"]),
    ("unknown axis", A, "a[t, i, d] = x[t, i, §e] * scale[d]", ["axis is not bound", "'e'", "sum[e]"]),
    ("axis without a size", TOTAL, "total[t] = §sum[q](eps)", ["no size", "'q'"]),
    ("axis-size conflict", A, "a[t, i, d] = x[t, i, d] * scale[§i]", ["two sizes", "'i'"]),
    ("number of indices", A, "a[t, i, d] = §x[t, i] * scale[d]", ["'x' has 3 dims", "2 indices"]),
    ("tensor without indices", A, "a[t, i, d] = §x * scale[d]", ["without its indices"]),
    ("read before written", A, "a[t, i, d] = §total[t] * scale[d]", ["read before it is written", "'total'"]),
    ("output never written", TOTAL, "other[t] = sum[i, d](a[t, i, d])", ["never written", "'total'"]),
    ("output partly written", TOTAL, "§total[0] = sum[i, d](a[0, i, d])", ["only partly written", "'total'"]),
    ("one segment left out", Z, "other[t, i] = sum[d](a[t, i, d] * w[one(i), d])", ["only partly written", "'z'"]),
    ("overlapping writes", TOTAL, TOTAL + "\n  §total[0] = eps", ["written twice", "'total'"]),
    ("write twice by one statement", "saved[r, t, i] = s[t, i]", "§saved[0, t, i] = s[t, i]", ["stores it again and again", "'saved'"]),
    ("input assigned", TOTAL, TOTAL + "\n  §idx[t] = 1", ["an input is not assigned"]),
    ("attribute assigned", TOTAL, TOTAL + "\n  §eps = 1", ["not assigned", "'eps'"]),
    ("intermediate is a C++ keyword", TOTAL, TOTAL + "\n  §double[t] = eps + 0 * total[t]", ["name of an intermediate", "C++ keyword"]),
    ("axis is a C++ keyword", TOTAL, "total[t] = §sum[auto, d](a[t, auto, d])", ["name of an axis", "C++ keyword"]),
    ("axis with a dim's name", TOTAL, "total[t] = §sum[D, i](a[t, i, D])", ["name of a size", "'D'"]),
    ("index that leaves", TOTAL, "total[t] = a[§t + 1, 0, 0]", ["not proved to stay inside", "t + 1"]),
    ("store that leaves", TOTAL, "total[§t + 1] = sum[i, d](a[t, i, d])", ["not proved to stay inside"]),
    ("loop that leaves", "saved[r, t, i] = s[t, i]", "saved[§r + 1, t, i] = s[t, i]", ["not proved to stay inside", "r + 1"]),
    ("unknown segment", Z, "z[t, §uno(i)] = sum[d](a[t, i, d] * w[one(i), d])", ["no segment", "'uno'"]),
    ("number of a segment's indices", Z, "z[t, §one(i, i)] = sum[d](a[t, i, d] * w[one(i), d])", ["segment 'one' has 1 dims"]),
    ("float tensor as an index", Y, "y[t, i, d] = x[§total[t], i, d]", ["integer tensor", "'total'"]),
    ("integer meets float", Y, "y[t, i, d] = §idx[t] * a[t, i, d]", ["mixes an integer tensor with floats", "cast"]),
    ("number as a condition", Y, "y[t, i, d] = where(§a[t, i, d], 1, 0)", ["needs a bool"]),
    ("bool as a number", Y, "y[t, i, d] = (§a[t, i, d] > 0) + 1", ["needs a number"]),
    ("bool stored as a float", TOTAL, "§total[t] = idx[t] > 0", ["holds float values"]),
    ("mean over a window that leaves", TOTAL, "total[t] = mean[k: 3](§a[t + k - 1, 0, 0])", ["divides by", "divisor"]),
    ("unwritten before a loop", "s[t, i] = sqrt(", "s[t, i] = §s[t, i] + sqrt(", ["read before it is written", "'s'"]),
    ("optional input without a value", "    fill: 1\n    shape: [D]", "    shape: [D]", ["an optional input is read"]),
]


def problems_of(text: str) -> list[Problem]:
    try:
        check(text, "mixer.yaml")
    except SpecError as error:
        return error.problems
    return []


def test_the_unedited_spec_has_no_problem() -> None:
    assert problems_of(GOOD) == []


def test_there_are_at_least_forty_kinds() -> None:
    assert len(CASES) >= 40
    assert len({name for name, *_ in CASES}) == len(CASES)


@pytest.mark.parametrize(("name", "old", "new", "words"), CASES, ids=[c[0] for c in CASES])
def test_a_broken_spec_is_answered_where_it_is_broken(name: str, old: str, new: str, words: list[str]) -> None:
    assert GOOD.count(old) >= 1, f"{name}: the text to edit is not in the good spec"
    text = GOOD.replace(old, new, 1)
    place = None
    if "§" in text:
        before, _, after = text.partition("§")
        place = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
        text = before + after
    found = problems_of(text)
    said = "\n".join(map(str, found))
    matching = [p for p in found if all(word in str(p) for word in words)]
    assert matching, f"{name}: no problem says {words}\n{said}"
    if place is not None:
        assert place in [(p.line, p.column) for p in matching], f"{name}: expected at {place}\n{said}"


def test_every_problem_names_file_line_and_column() -> None:
    problem = problems_of(GOOD.replace("dtype: int32", "dtype: it32"))[0]
    line = GOOD[: GOOD.index("dtype: int32")].count("\n") + 1
    assert str(problem) == f"mixer.yaml:{line}:12: no such dtype, 'it32', did you mean 'int32'?"


def test_all_problems_of_a_file_are_reported_at_once() -> None:
    text = (
        GOOD.replace("products: [Ascend910B]", "products: [Ascend911]")
        .replace("default: 3", "default: 30")
        .replace("dtype: int32", "dtype: it32")
    )
    text = text.replace("groups:", "grups:").replace(A, "a[t, i, d] = xx[t, i, d] * scale[d]").replace(TOTAL, "total[t] = lambda: 1")
    said = "\n".join(map(str, problems_of(text)))
    for words in ("'Ascend911'", "out of range, 30", "'it32'", "'grups'", "'xx'", "a lambda"):
        assert words in said, f"{words} is missing\n{said}"


def test_problems_come_in_file_order() -> None:
    text = (
        GOOD.replace("default: 3", "default: 30").replace(A, "a[t, i, d] = xx[t, i, d]").replace("products: [Ascend910B]", "products: [X]")
    )
    places = [(p.line, p.column) for p in problems_of(text)]
    assert places == sorted(places)
    assert len(places) >= 3


def test_a_formula_cannot_name_what_allows_hf32() -> None:
    mode = "  - {symbol: mode, name: mode, aclnn: mode, io: attr, type: int, default: 0, about: {en: m, zh: m}}\n"
    text = GOOD.replace("  - symbol: y\n", mode + "  - symbol: y\n").replace("dtypes:", "hf32: {attr: mode, values: [1]}\ndtypes:", 1)
    assert problems_of(text) == []
    found = problems_of(text.replace(TOTAL, "total[t] = sum[i, d](a[t, i, d]) * mode"))
    assert [("'mode'" in str(p)) for p in found] == [True]
    assert found[0].line == text[: text.index(TOTAL)].count("\n") + 1


def test_hf32_is_not_allowed_by_what_the_kernel_does_not_get() -> None:
    mode = "  - {symbol: mode, name: mode, aclnn: mode, io: attr, type: int, default: 0, aclnn_only: true, about: {en: m, zh: m}}\n"
    text = GOOD.replace("  - symbol: y\n", mode + "  - symbol: y\n").replace("dtypes:", "hf32: {attr: mode, values: [1]}\ndtypes:", 1)
    (problem,) = problems_of(text)
    assert (problem.line, problem.column) == (text[: text.index("hf32:")].count("\n") + 1, 14)
    assert "the kernel does not get it, 'mode', an attribute without 'aclnn_only: true'" in str(problem)
