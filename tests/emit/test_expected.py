"""Printed kernels as a reviewer reads them: expected files, updated only on purpose (OPWRIGHT_UPDATE=1)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from generator.emit.render import render_sources
from tests.emit import handmade

EXPECTED = Path(__file__).parent / "expected"


@pytest.mark.parametrize("name", ["op_kernel/scaled_exp.cpp", "op_kernel/scaled_exp_rows.h", "op_host/scaled_exp_tiling.cpp"])
def test_the_printed_text_is_the_reviewed_text(name: str) -> None:
    text = render_sources(handmade.checked(), handmade.plan())[f"demo/scaled_exp/{name}"]
    path = EXPECTED / f"{Path(name).name}.txt"
    if os.environ.get("OPWRIGHT_UPDATE"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text
