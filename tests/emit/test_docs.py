"""The documents: both languages say the same, in the form operator documents have, and say everything the spec says."""

from __future__ import annotations

import re

import pytest

from generator.emit.docs import cell
from generator.emit.render import render_documents
from tests.reference.specs import NAMES, every

CJK = re.compile(r"[\u4e00-\u9fff]")
SECTIONS = {
    "zh": ["产品支持情况", "功能说明", "函数原型", "{api}GetWorkspaceSize", "{api}", "约束说明", "调用示例"],
    "en": ["Supported products", "Function", "Prototype", "{api}GetWorkspaceSize", "{api}", "Constraints", "Example"],
}


def documents(name: str) -> dict[str, str]:
    """Language -> text."""
    texts = render_documents(every()[name])
    return {"en" if path.endswith(".en.md") else "zh": text for path, text in texts.items()}


def table(text: str, header: str) -> list[list[str]]:
    """The rows of the first table whose header begins with ``header``, without escapes."""
    lines = text.splitlines()
    start = next(k for k, line in enumerate(lines) if line.startswith(f"| {header} |"))
    rows = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        rows.append([c.strip().replace("\\*", "*").replace("\\|", "|") for c in re.split(r"(?<!\\)\|", line)[1:-1]])
    return rows


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("lang", ["zh", "en"])
def test_a_document_has_the_sections_of_operator_documents(name: str, lang: str) -> None:
    text = documents(name)[lang]
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == [s.format(api=f"aclnn{name}") for s in SECTIONS[lang]]
    assert text.count("$$") == 2
    outside_code = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    assert outside_code.replace("$$", "").count("$") % 2 == 0


@pytest.mark.parametrize("name", NAMES)
def test_both_languages_say_the_same_in_their_own_words(name: str) -> None:
    spec = every()[name].spec
    zh, en = documents(name)["zh"], documents(name)["en"]
    banner = en.splitlines()[0]
    assert not CJK.findall(en.replace(banner, ""))
    assert spec.summary.zh in zh
    assert spec.summary.en in en
    first, second = table(zh, "参数名"), table(en, "Parameter")
    assert [r[0] for r in first] == [r[0] for r in second] == [*(p.aclnn for p in spec.params), "workspaceSize", "executor"]
    for p, a, b in zip(spec.params, first, second, strict=False):
        assert (a[2], b[2]) == (p.about.zh, p.about.en)
    assert [r[:2] for r in table(zh, "返回值")] == [r[:2] for r in table(en, "Return value")]
    formula = re.compile(r"\$\$.*?\$\$", re.DOTALL)
    assert formula.findall(zh) == formula.findall(en)


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_and_condition_of_the_spec_is_in_its_document(name: str) -> None:
    spec = every()[name].spec
    text = documents(name)["en"]
    declared = re.findall(r"(\w+)[,)]", text.split("```cpp")[1].split("```")[0])
    assert declared == [*(p.aclnn for p in spec.params), "workspaceSize", "executor"]
    rows = {r[0]: r for r in table(text, "Parameter")}
    for p in spec.params:
        if p.io == "attr":
            continue
        if p.flat is None:
            shapes = [list(p.shape or []), *p.ranks]
            assert rows[p.aclnn][6].count("(") == len(shapes) + sum("(" in str(d) for s in shapes for d in s)
        assert rows[p.aclnn][5].split(", ") == list(p.formats)
        assert ("null pointer" in rows[p.aclnn][3]) == p.optional
    codes = table(text, "Return value")
    conditions = [d.where for d in spec.dims.values()] + [p.where for p in spec.params] + [c.that for c in spec.constraints]
    assert sum("does not hold" in r[2] for r in codes) == sum(c is not None for c in conditions) + sum(
        bool(p.optional_when) for p in spec.params
    )
    assert {(r[0], r[1]) for r in codes} <= {
        ("ACLNN_ERR_PARAM_NULLPTR", "161001"),
        ("ACLNN_ERR_PARAM_INVALID", "161002"),
        ("ACLNN_ERR_RUNTIME_ERROR", "361001"),
        ("ACLNN_ERR_INNER_NULLPTR", "561103"),
    }


def test_a_verdict_stands_in_a_document_only_where_the_spec_records_one() -> None:
    for name in NAMES:
        text = documents(name)["en"]
        for p in every()[name].spec.params:
            recorded = every()[name].spec.audited.get(p.symbol)
            said = re.search(rf"The audit of the formulas of [^\n]*\b{p.aclnn}\b[^\n]*\({recorded}\)", text)
            assert (said is not None) == (recorded is not None), p.symbol


def test_a_cell_keeps_code_as_it_is_and_escapes_the_rest() -> None:
    assert cell("2*n | `a*b` | c") == "2\\*n \\| `a*b` \\| c"
