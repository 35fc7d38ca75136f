"""The source check finds what device code must not contain, and says where."""

from __future__ import annotations

from pathlib import Path

import pytest

from generator.twin.source_check import check, check_text

CLEAN = """\
// A kernel; "std::" and double in comments and strings do not count.
#include "kernel_operator.h"
#include "own_tiling_data.h"

namespace own {
template <typename T, int32_t depth = 1>
class Kernel {
 public:
  __aicore__ inline Kernel() {}
  __aicore__ inline void Init(GM_ADDR x, const OwnTilingData &tiling, AscendC::TPipe *pipe) {
    if (tiling.rows * tiling.cols > 0) {
      xGm.SetGlobalBuffer((__gm__ T *)x, tiling.rows * tiling.cols);
    }
    for (int64_t i = 0; i < 4; ++i) { total += i * tiling.cols; }
  }

 private:
  static constexpr int64_t kTile = 8;
  AscendC::GlobalTensor<T> xGm;
  int64_t total = static_cast<int64_t>(0);
};
}  // namespace own

extern "C" __global__ __aicore__ void own(GM_ADDR x, GM_ADDR workspace, GM_ADDR tiling) {
  GET_TILING_DATA(data, tiling);
  own::Kernel<float> kernel;
}
"""


def test_a_clean_kernel_has_no_findings() -> None:
    assert check_text(Path("own.cpp"), CLEAN, {"own_tiling_data.h"}) == []


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("#include <vector>", "include"),
        ('#include "other.h"', "include"),
        ("__aicore__ inline float F(float a) { return std::exp(a); }", "std"),
        ("constexpr double kPi = 3.0;", "double"),
        ("__aicore__ inline void F() { auto p = new int32_t[4]; }", "new"),
        ("__aicore__ inline void F() { throw 1; }", "throw"),
        ("static int32_t counter = 0;", "static"),
        ("inline float F(float a) { return a; }", "aicore"),
        ("template <typename T> inline T F(T a) { return a; }", "aicore"),
        ("struct S { void F() { } };", "aicore"),
        ("__aicore__ inline void F(float *x) { }", "gm"),
        ("__aicore__ inline void F(GM_ADDR x) { g.SetGlobalBuffer((float *)x); }", "gm"),
        ("struct S { uint8_t *x; };", "gm"),
    ],
)
def test_each_rule_is_found_at_its_line_alone(line: str, rule: str) -> None:
    findings = check_text(Path("own.cpp"), f"{CLEAN}{line}\n", {"own_tiling_data.h"})
    assert [(finding.rule, finding.line) for finding in findings] == [(rule, CLEAN.count("\n") + 1)]


def test_a_folder_is_checked_whole_and_places_are_exact(tmp_path: Path) -> None:
    (tmp_path / "own.cpp").write_text('#include "kernel_operator.h"\n#include "own.h"\n', encoding="utf-8")
    (tmp_path / "own.h").write_text("struct S {\n  double x;\n};\n", encoding="utf-8")
    (finding,) = check(tmp_path)
    assert (finding.file.name, finding.line, finding.column, finding.rule) == ("own.h", 2, 3, "double")
    assert str(finding).endswith("own.h:2:3: double: a double; the vector core has none, use float")
