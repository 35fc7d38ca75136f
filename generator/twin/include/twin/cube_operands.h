// How a Matmul object takes its operands: bounds, order, copies of local ones, and panels widened to 32 bits. Part of the runtime
// (runtime.cpp).
#pragma once
#include "cube_checks.h"
#include "cube_kernel.h"

namespace twin {

constexpr int64_t kPanelDepth = 512;  // k widened at a time, about

inline int64_t CeilDiv(int64_t value, int64_t unit) { return (value + unit - 1) / unit; }
inline int64_t CeilTo(int64_t value, int64_t unit) { return CeilDiv(value, unit) * unit; }
inline int64_t AtMost(int64_t value, int64_t most) { return value < most ? value : most; }

TWIN_FN CubeObject::CubeObject(const CubeTraits &types) : traits(types) {}
TWIN_FN CubeObject::~CubeObject() {}

TWIN_FN void CubeOperand::Point(const GlobalBytes &gm, bool transpose, Site where) {
  arg = gm.arg;
  base = gm.address;
  start = gm.start;
  limit = gm.Limit();
  local = taken = false;
  transposed = transpose;
  site = where;
}
TWIN_FN void CubeOperand::Point(const LocalBytes &ub, bool transpose, Site where) {
  tensor = ub;
  local = true;
  taken = false;
  transposed = transpose;
  site = where;
}

// --- operands ---------------------------------------------------------------------------------------------------------

TWIN_FN int64_t CubeObject::Matrix::Pitch() const { return columns; }

TWIN_FN CubeObject::Matrix CubeObject::Stored(bool left) const {
  if (left) return a.transposed ? Matrix{orgKa, orgM, singleK, singleM, &a, traits.a} : Matrix{orgM, orgKa, singleM, singleK, &a, traits.a};
  return b.transposed ? Matrix{orgN, orgKb, singleN, singleK, &b, traits.b} : Matrix{orgKb, orgN, singleK, singleN, &b, traits.b};
}

// On a cube core nothing but a barrier orders the pipe that writes C before the one that reads operands (facts C.3).
inline void CheckOwnResults(Instr &in, const GmAccess &access) {
  const GlobalLog &log = *in.core.globals;
  if (log.epoch != in.core.epoch) return;
  for (const GmAccess &old : log.results)
    if (RunsOverlap(access, old)) {
      in.core.Report(Law::kMissingSync, in.where, in.name,
                     "%s reads global memory that this cube core wrote before (line %d), with no PipeBarrier<PIPE_ALL> or SyncAll between",
                     in.name, old.site.line);
      return;
    }
}

// The operand's memory is read by the cube now: bounds, order, initialisation, races; a local operand is copied.
TWIN_FN bool CubeObject::Take(Instr &in, const char *name, CubeOperand &operand, const Matrix &m) {
  const int64_t size = CubeSize(m.type.dtype);
  GmAccess access{0, m.usedColumns * size, m.Pitch() * size, m.usedRows, in.where, in.name, -1, false, false, false, false};
  if (m.type.format == CubeFormat::NZ) {
    const int64_t fractal = m.Fractal();
    access.run = m.usedRows * kBlock;
    access.stride = CeilTo(m.rows, 16) * kBlock;
    access.count = CeilDiv(m.usedColumns, fractal);
  } else if (m.Pitch() == m.usedColumns) {
    access.run *= m.usedRows;
    access.count = 1;
  }
  if (!operand.local) {
    if (!Bound(in, name, operand.arg, operand.base, operand.limit, operand.start, access)) return false;
    TouchGlobal(in, access, true);
    CheckOwnResults(in, access);
    return true;
  }
  if (operand.taken) return true;
  const int64_t bytes = (access.count - 1) * access.stride + access.run;
  Instr copy(in.name, Pipe::MTE3, in.where);
  if (!copy.Place(operand.tensor, name, 0, bytes, kBlock)) {
    in.Refuse();
    return false;
  }
  copy.ReadBytes(name, operand.tensor.start, bytes);
  operand.copy.assign(copy.core.ub + operand.tensor.start, copy.core.ub + operand.tensor.start + bytes);
  operand.taken = true;
  for (int p = 0; p < kPipes; ++p) copy.core.Edge(Pipe::MTE3, static_cast<Pipe>(p));  // the call returns when the cube has its data
  if (!kIs3510) copy.core.globals->cube.systemWritten += RoundUp32(bytes);
  return true;
}

TWIN_FN bool CubeObject::TakeBias(Instr &in) {
  if (!biased) return true;
  const Matrix row{1, singleN, 1, singleN, &bias, traits.bias};
  return Take(in, "the bias", bias, row);
}

inline const uint8_t *OperandData(const CubeOperand &operand) { return operand.local ? operand.copy.data() : operand.base + operand.start; }

// Rows and columns of a stored operand as 32-bit numbers.
TWIN_FN void CubeObject::Widen(const Matrix &m, int64_t row, int64_t rows, int64_t column, int64_t columns, float *to, int64_t step) const {
  const int64_t size = CubeSize(m.type.dtype);
  const uint8_t *data = OperandData(*m.operand);
  const auto widen = Cube().widen;
  for (int64_t r = row; r < row + rows; ++r, to += step) {
    if (m.type.format != CubeFormat::NZ) {
      widen(m.type.dtype, data + (r * m.Pitch() + column) * size, columns, to, hf32);
      continue;
    }
    const int64_t fractal = m.Fractal(), tall = CeilTo(m.rows, 16);
    for (int64_t c = column; c < column + columns;) {
      const int64_t within = c % fractal, run = AtMost(fractal - within, column + columns - c);
      widen(m.type.dtype, data + ((c / fractal * tall + r) * fractal + within) * size, run, to + (c - column), hf32);
      c += run;
    }
  }
}

// The rows of a tile from k on, as stored: transposed or not.
TWIN_FN const float *CubeObject::LeftPanel(const Tile &t, int64_t k, int64_t depth, int64_t &rowStep, int64_t &depthStep) {
  const Matrix m = Stored(true);
  const int64_t first = t.row * tiling.baseM;
  const int64_t step = (a.transposed ? t.rows : depth) + 16;  // not a power of two, for the machine's caches
  rowStep = a.transposed ? 1 : step;
  depthStep = a.transposed ? step : 1;
  bool fresh = false;
  float *panel = panels->left.Get(PanelKey{t.row, k}, (a.transposed ? depth : t.rows) * step, fresh);
  if (fresh && a.transposed)
    Widen(m, k, depth, first, t.rows, panel, step);
  else if (fresh)
    Widen(m, first, t.rows, k, depth, panel, step);
  return panel;
}

// What tells an operand from others: its address while nothing has written its argument, else the number of the computation.
TWIN_FN int64_t CubeObject::Identity(const CubeOperand &operand) const {
  if (operand.local) return -computation;
  const GmArg &arg = Self().launch->args[static_cast<size_t>(operand.arg)];
  if (arg.role != Role::kInput || arg.state.load(std::memory_order_acquire) != nullptr) return -computation;
  return static_cast<int64_t>(reinterpret_cast<intptr_t>(operand.base + operand.start));
}

// The columns of a tile from k on: panels of [depth][width], the last one narrower when its columns fit.
TWIN_FN const float *CubeObject::RightPanel(const Tile &t, int64_t k, int64_t depth) {
  const Matrix m = Stored(false);
  const int64_t first = t.column * tiling.baseN, width = Cube().width;
  bool fresh = false;
  const PanelKey key{Identity(b), first, k, t.columns, depth, 8 * m.Pitch() + 2 * hf32 + (b.transposed ? 1 : 0)};
  float *panel = panels->right.Get(key, CeilTo(t.columns, width) * depth, fresh);
  if (!fresh) return panel;
  const int64_t step = (b.transposed ? depth : CeilTo(t.columns, width)) + 16;
  std::vector<float> &rows = panels->rows;
  rows.assign(static_cast<size_t>((b.transposed ? width : 1) * step), 0.0f);
  if (!b.transposed) {
    for (int64_t d = 0; d < depth; ++d) {
      Widen(m, k + d, 1, first, t.columns, rows.data(), step);
      for (int64_t c = 0; c < t.columns; c += width) {
        const int64_t wide = t.columns - c <= Cube().narrow ? Cube().narrow : width;
        std::memcpy(panel + c * depth + d * wide, rows.data() + c, static_cast<size_t>(4 * wide));
      }
    }
    return panel;
  }
  for (int64_t c = 0; c < t.columns; c += width) {
    const int64_t used = AtMost(width, t.columns - c), wide = used <= Cube().narrow ? Cube().narrow : width;
    float *to = panel + c * depth;
    Widen(m, first + c, used, k, depth, rows.data(), step);
    std::memset(rows.data() + used * step, 0, static_cast<size_t>(4 * (width - used) * step));
    for (int64_t d = 0; d < depth; ++d)
      for (int64_t j = 0; j < wide; ++j) to[d * wide + j] = rows[static_cast<size_t>(j * step + d)];
  }
  return panel;
}

}  // namespace twin
