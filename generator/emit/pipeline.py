"""From a folder of specs to a folder of operators: which operators are out of date, their texts, and the writing.

Everything heavy (the language, the planner, the templates) is imported only once something has to be rendered.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from generator.emit.manifest import MANIFEST, FileRecord, Manifest, OperatorRecord, digest, files_below, load
from generator.emit.stamp import Stamp, engine, manifest_hash, read_stamp, spec_hashes, unmodified, write_stamp
from generator.emit.writer import Change, EditedByHandError, OnEdit, apply, changes, read_text

if TYPE_CHECKING:
    from generator.formula.checked import CheckedSpec
    from generator.plan.tree import KernelPlan

__all__ = ["Outcome", "Rendered", "UnknownOperatorError", "compare", "current", "generate", "names_of", "planned", "tidy"]

Progress = Callable[[str, int, int], None]
_HEAD: Final = re.compile(r"^(name|forward):[ \t]*['\"]?([A-Za-z_][A-Za-z0-9_]*)", re.MULTILINE)
_DOCUMENTATION: Final = frozenset({"about", "summary", "notes", "published", "audited", "tests", "bench"})


class UnknownOperatorError(Exception):
    """An operator was asked for that no spec defines."""


@dataclass(frozen=True)
class Rendered:
    """One operator as it should be: record for the manifest, and its texts by path below the output directory."""

    folder: str
    record: OperatorRecord
    texts: Mapping[str, str]


@dataclass
class Outcome:
    """What a run found and did."""

    changes: list[Change] = field(default_factory=list)
    edited: list[str] = field(default_factory=list)  # edited by hand, therefore not written
    reasons: list[str] = field(default_factory=list)
    conflicts: list[str] = field(default_factory=list)  # merged with conflict markers
    rendered: list[str] = field(default_factory=list)  # operators that were rendered
    refused: list[str] = field(default_factory=list)  # located problems of specs


def names_of(specs: Path) -> dict[str, tuple[str, str | None]]:
    """Every spec below ``specs``: posix path -> (operator's name, its forward's name), read without parsing YAML."""
    found: dict[str, tuple[str, str | None]] = {}
    for path in sorted(specs.rglob("*.yaml")):
        heads = dict(_HEAD.findall(path.read_text(encoding="utf-8", errors="replace")))
        found[path.relative_to(specs).as_posix()] = (heads.get("name", path.stem), heads.get("forward"))
    return found


def current(specs: Path, out: Path) -> bool:
    """True when hashes alone show that there is nothing to do; parses and renders nothing."""
    stamp = read_stamp(specs, out)
    if stamp is None or stamp.specs != spec_hashes(specs) or stamp.manifest != manifest_hash(out) or stamp.engine != engine():
        return False
    return unmodified(out, load(out))


def tidy(specs: Path, out: Path, extra: bool = False) -> bool:
    """:func:`current`, and with ``extra`` also no file in ``out`` that the manifest does not know."""
    return current(specs, out) and not (extra and _extra(out, load(out)))


# --- rendering -----------------------------------------------------------------------------------------------------


def _strip(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _strip(v) for k, v in value.items() if k not in _DOCUMENTATION}
    return [_strip(v) for v in value] if isinstance(value, list) else value


def _inputs(checked: CheckedSpec, forward: CheckedSpec | None) -> dict[str, str]:
    """Hash of what each group of files is rendered from: the meaning of the spec, its tests, or all of its text."""
    from generator.emit.render import origin_of

    def meaning(c: CheckedSpec) -> str:
        body = json.dumps(_strip(c.spec.model_dump(mode="json", exclude={"formula"})), sort_keys=True)
        return f"{origin_of(c)}\n{body}\n{c.program!r}\n{c.derived!r}"

    sources = meaning(checked)
    tests = json.dumps(checked.spec.tests.model_dump(mode="json"), sort_keys=True)
    whole = json.dumps(checked.spec.model_dump(mode="json"), sort_keys=True)
    return {
        "op_": digest(sources),
        "CMakeLists.txt": digest(sources),
        "docs/": digest(f"{origin_of(checked)}\n{whole}"),
        "examples/": digest(f"{sources}\n{tests}\n{meaning(forward) if forward else ''}"),
        "tests/": digest(f"{sources}\n{tests}\n{meaning(forward) if forward else ''}"),
        "torch/": digest(f"{sources}\n{meaning(forward) if forward else ''}"),
    }


def _reusable(out: Path, folder: str, record: OperatorRecord | None, prefix: str, inputs: str) -> dict[str, str] | None:
    """The texts on disk of one group of files, when they were rendered from the same inputs and nobody touched them."""
    files = {n: f for n, f in record.files.items() if n.startswith(prefix)} if record else {}
    texts: dict[str, str] = {}
    for name, f in files.items():
        text = read_text(out / folder / name)
        if f.inputs != inputs or text is None or digest(text.encode("utf-8", errors="surrogateescape")) != f.sha256:
            return None
        texts[f"{folder}/{name}"] = text
    return texts or None


def _render(checked: CheckedSpec, forward: CheckedSpec | None, depends: tuple[str, ...], out: Path, old: Manifest, reuse: bool) -> Rendered:
    from generator.emit import render as r

    folder = r.folder(checked)
    inputs = _inputs(checked, forward)

    def sources() -> dict[str, str]:
        return r.render_sources(checked, _plan(checked))

    makers: dict[str, Callable[[], dict[str, str]]] = {
        "op_": sources,
        "CMakeLists.txt": lambda: r.render_build(checked),
        "docs/": lambda: r.render_documents(checked),
        "examples/": lambda: r.render_examples(checked, forward),
        "tests/": lambda: r.render_tests(checked, forward),
        "torch/": lambda: r.render_torch(checked, forward),
    }
    texts: dict[str, str] = {}
    records: dict[str, FileRecord] = {}
    for prefix, make in makers.items():
        kept = _reusable(out, folder, old.operators.get(folder), prefix, inputs[prefix]) if reuse else None
        for path, text in (make() if kept is None else kept).items():
            texts[path] = text
            records[path.removeprefix(folder + "/")] = FileRecord(digest(text), inputs[prefix])
    return Rendered(folder, OperatorRecord(checked.spec.name, depends, records), texts)


def _plan(checked: CheckedSpec) -> KernelPlan:
    from generator.plan import plan
    from generator.plan.tiles import Refusal
    from generator.spec.errors import Problem, SpecError

    try:
        return plan(checked)
    except Refusal as e:
        line, column = (e.span.line, e.span.column) if e.span is not None else (1, 1)
        raise SpecError([Problem(str(checked.path), line, column, f"the formula cannot be planned: {e}")]) from e


def planned(specs: Path, operator: str) -> tuple[CheckedSpec, KernelPlan]:
    """One operator by name, checked and planned."""
    from generator.formula import checked as formula

    path = next((p for p, (n, _) in names_of(specs).items() if n == operator), None)
    if path is None:
        _chosen(specs, [operator])
        raise UnknownOperatorError(operator)
    checked = formula.load(specs / path)
    return checked, _plan(checked)


def _load_all(specs: Path, wanted: Iterable[str], names: Mapping[str, tuple[str, str | None]]) -> dict[str, CheckedSpec]:
    """Check specs and the forwards they name; SpecError carries the problems of all of them."""
    from generator.formula import checked as formula
    from generator.spec.errors import SpecError

    needed = list(wanted)
    by_name = {n: p for p, (n, _) in names.items()}
    needed += [by_name[f] for p in needed if (f := names[p][1]) in by_name]
    loaded: dict[str, CheckedSpec] = {}
    problems = []
    for path in dict.fromkeys(needed):
        try:
            loaded[path] = formula.load(specs / path)
        except SpecError as e:
            problems += e.problems
    if problems:
        raise SpecError(problems)
    return loaded


def _render_all(specs: Path, out: Path, wanted: list[str], old: Manifest, reuse: bool, progress: Progress | None) -> list[Rendered]:
    names = names_of(specs)
    by_name = {n: p for p, (n, _) in names.items()}
    from generator.emit.forked import forked

    loaded = _load_all(specs, wanted, names)
    _check_links(specs, loaded)
    calls: list[Callable[[], Rendered]] = []
    for path in wanted:
        forward = by_name.get(names[path][1] or "")
        depends = (path, forward) if forward else (path,)
        calls.append(partial(_render, loaded[path], loaded.get(forward) if forward else None, depends, out, old, reuse))
    done: list[Rendered] = []
    for k, rendered in enumerate(forked(calls)):
        if progress:
            progress(names[wanted[k]][0], k, len(wanted))
        done.append(rendered)
    if progress:
        progress("", len(wanted), len(wanted))
    return done


def _check_links(specs: Path, loaded: Mapping[str, CheckedSpec]) -> None:
    """What specs say of each other: forwards that exist and agree, and no two operators of one name or folder."""
    from generator.emit.render import folder
    from generator.formula.link import link
    from generator.spec.errors import Problem, SpecError

    problems = []
    seen: dict[str, str] = {}
    by_name = {c.spec.name: c for c in loaded.values()}
    for path, checked in loaded.items():
        try:
            link(checked, by_name)
        except SpecError as e:
            problems += e.problems
        where = folder(checked)
        if where in seen:
            shown = str(specs / path)
            problems.append(Problem(shown, 1, 1, "two specs define one operator", f"'{checked.spec.name}'", f"see {seen[where]}"))
        seen[where] = str(specs / path)
    if problems:
        raise SpecError(problems)


# --- commands ------------------------------------------------------------------------------------------------------


def _chosen(specs: Path, operators: Iterable[str]) -> list[str]:
    """Spec paths of the named operators and of those that depend on them; all without names."""
    names = names_of(specs)
    wanted = set(operators)
    unknown = sorted(wanted - {n for n, _ in names.values()})
    if unknown:
        known = ", ".join(sorted(n for n, _ in names.values())) or "none"
        raise UnknownOperatorError(f"no spec below {specs} defines {', '.join(unknown)}; defined are: {known}")
    return [p for p, (n, f) in names.items() if not wanted or n in wanted or f in wanted]


def _stale(specs: Path, old: Manifest, chosen: list[str], stamp: Stamp | None, reuse: bool, out: Path) -> list[str]:
    """Of the chosen specs those whose operator may be out of date: a spec it depends on changed, or its files did."""
    if not reuse or stamp is None:
        return chosen
    now = spec_hashes(specs)
    fresh = set()
    for folder, op in old.operators.items():
        same = all(now.get(p) is not None and now.get(p) == stamp.specs.get(p) for p in op.depends)
        if same and unmodified(out, Manifest({folder: op})):
            fresh.add(op.depends[0])
    return [p for p in chosen if p not in fresh]


def _gone(old: Manifest, specs: Path) -> list[str]:
    """Folders of recorded operators whose spec is no more."""
    return [f for f, op in old.operators.items() if not (specs / op.depends[0]).is_file()]


def generate(specs: Path, out: Path, operators: Iterable[str] = (), on_edit: OnEdit = "stop", progress: Progress | None = None) -> Outcome:
    """Bring ``out`` up to date with ``specs``; raises SpecError, Refusal or EmitError before anything is written."""
    result = Outcome()
    wanted = list(operators)
    if current(specs, out):
        _chosen(specs, wanted)
        return result
    old, stamp, now = load(out), read_stamp(specs, out), engine()
    reuse = stamp is not None and stamp.engine == now and stamp.manifest == manifest_hash(out)
    stale = _stale(specs, old, _chosen(specs, wanted), stamp, reuse, out)
    rendered = _render_all(specs, out, stale, old, reuse, progress)
    manifest = dict(old.operators)
    for r in rendered:
        moved = [f for f, op in manifest.items() if op.name == r.record.name and f != r.folder]
        if _write(out, changes(out, r.texts, old, r.folder), on_edit, result):
            manifest[r.folder] = r.record
            result.rendered.append(r.record.name)
            for folder in moved:
                _retire(out, folder, old, manifest, on_edit, result)
        _save(out, manifest)
    for folder in _gone(old, specs) if not wanted else ():
        if folder in manifest:
            _retire(out, folder, old, manifest, on_edit, result)
    _save(out, manifest)
    if not wanted and not result.edited:
        write_stamp(specs, out, Stamp(now, spec_hashes(specs), manifest_hash(out)))
    return result


def _retire(out: Path, folder: str, old: Manifest, manifest: dict[str, OperatorRecord], on_edit: OnEdit, result: Outcome) -> None:
    if _write(out, changes(out, {}, old, folder), on_edit, result):
        manifest.pop(folder, None)


def _write(out: Path, todo: list[Change], on_edit: OnEdit, result: Outcome) -> bool:
    try:
        result.conflicts += apply(out, todo, on_edit)
    except EditedByHandError as e:
        result.edited += e.paths
        result.reasons += [e.reason] if e.reason else []
        return False
    result.changes += todo
    return True


def _save(out: Path, operators: Mapping[str, OperatorRecord]) -> None:
    text = Manifest(operators).text()
    path = out / MANIFEST
    if (operators or path.exists()) and read_text(path) != text:
        apply(out, [Change(MANIFEST, None, text, False)])


def compare(specs: Path, out: Path, operators: Iterable[str] = (), progress: Progress | None = None, stamp: bool = False) -> list[Change]:
    """What ``gen`` would change, extra files and the manifest included (for all operators); writes nothing in ``out``.

    With ``stamp``, an ``out`` found up to date is remembered as such.
    """
    wanted = list(operators)
    old = load(out)
    if current(specs, out) and not _extra(out, old):
        _chosen(specs, wanted)
        return []
    rendered = _render_all(specs, out, _chosen(specs, wanted), old, False, progress)
    found = [c for r in rendered for c in changes(out, r.texts, old, r.folder)]
    if wanted:
        return found
    manifest = Manifest({r.folder: r.record for r in rendered})
    texts = {p for r in rendered for p in r.texts}
    recorded = {p for p, _ in old.paths()}
    extra = [n for n in files_below(out) if n not in texts and n != MANIFEST]
    found += [Change(n, read_text(out / n), None, edited=n not in recorded) for n in extra]
    if read_text(out / MANIFEST) != manifest.text():
        found.append(Change(MANIFEST, read_text(out / MANIFEST), manifest.text(), False))
    unique = {c.path: c for c in found}
    if stamp and not unique:
        write_stamp(specs, out, Stamp(engine(), spec_hashes(specs), manifest_hash(out)))
    return [unique[p] for p in sorted(unique)]


def _extra(out: Path, manifest: Manifest) -> bool:
    known = {p for p, _ in manifest.paths()} | {MANIFEST}
    return any(name not in known for name in files_below(out))
