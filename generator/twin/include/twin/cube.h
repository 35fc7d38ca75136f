// One Matmul object, without its template: state between calls, and the work of the cube.
//
// The bodies are in cube_checks.h (what the tiling and the calls must satisfy), cube_operands.h, cube_tiles.h, cube_run.h and
// cube_kernel.h (the arithmetic); all are part of the runtime. An object of a vector core (the default form) works in that core's
// thread: the cube's reads and writes of global memory are the vector core's own, on its scalar pipe, so whatever it has written must
// be ordered before its scalar unit. With ASCENDC_CUBE_ONLY the object works in the thread of a cube core, which only SyncAll<false>
// orders with others.
#pragma once
#include <memory>

#include "cube_types.h"
#include "dma.h"
#include "gm.h"

namespace twin {

constexpr int kCubeObjects = 4;                         // Matmul objects of a kernel
constexpr int64_t kSystemWorkspace = 16 * 1024 * 1024;  // the system's share of the workspace
constexpr int64_t kBiasTable = kIs3510 ? 4096 : 1024;   // bytes
constexpr int64_t kL1Lost = kIs3510 ? 0 : 256;          // bytes of L1 that mix kernels lose on 220
constexpr int64_t kLongAxis = 65535;                    // elements of an inner axis in global memory without intrinsicsCheck

// Where a SetTensor call pointed.
struct CubeOperand {
  bool given = false;  // set for the next computation
  bool local = false;
  bool transposed = false;
  bool taken = false;  // a local operand was copied
  int arg = -1;
  const uint8_t *base = nullptr;  // as in GlobalTensor
  int64_t start = 0, limit = -1;
  LocalBytes tensor;
  std::vector<uint8_t> copy;  // of a local operand
  Site site{nullptr, 0};
  void Point(const GlobalBytes &gm, bool transpose, Site where);
  void Point(const LocalBytes &ub, bool transpose, Site where);
};

struct CubePanels;  // cube_kernel.h: operands widened to 32 bits

class CubeObject {
 public:
  explicit CubeObject(const CubeTraits &types);
  ~CubeObject();
  CubeObject(const CubeObject &) = delete;
  CubeObject &operator=(const CubeObject &) = delete;

  void Register(int number, Site site);
  void Init(const TCubeTiling *source, Site site);
  void SetOrg(int64_t m, int64_t n, int64_t ka, int64_t kb, int64_t kc);
  void SetSingle(int64_t m, int64_t n, int64_t k);
  void SetA(Site site) { Restart("SetTensorA", a, traits.a, site); }
  void SetB(Site site) { Restart("SetTensorB", b, traits.b, site); }
  void SetBias(Site site);
  void SetHf32(bool on, int32_t rounding, Site site);
  void NoBias();

  // One tile into L0C; false when the area is exhausted.
  bool Iterate(bool partial, Site site);
  // The tile of the last Iterate to global or to unified-buffer memory.
  void Fetch(const GlobalBytes &gm, int64_t atomic, bool sequential, Site site);
  void Fetch(const LocalBytes &ub, int64_t atomic, bool sequential, Site site);
  void All(const GlobalBytes &gm, int64_t atomic, bool sequential, bool sync, bool waits, Site site);
  void WaitAll(Site site);
  // All tiles to the workspace, one after another; later calls count them.
  bool IterateLater(bool partial, Site site);
  GlobalBytes NextSlot(const char *api, int64_t atomic, Site site);
  void FetchLater(const LocalBytes &ub, int64_t atomic, Site site);
  void WaitFetch();
  void End(Site site);

  CubeTraits traits;
  TCubeTiling tiling;
  CubeOperand a, b, bias;
  GlobalBytes space;  // SetWorkspace
  int hf32 = 0;       // 1: half to even, 2: half away

 private:
  struct Matrix {           // an operand as it is stored
    int64_t rows, columns;  // of the stored matrix
    int64_t usedRows, usedColumns;
    const CubeOperand *operand;
    CubeType type;
    int64_t Pitch() const;  // elements from row to row (ND)
    int64_t Fractal() const { return kBlock / CubeSize(type.dtype); }
  };
  struct Tile {
    int64_t row = 0, column = 0;    // numbers
    int64_t rows = 0, columns = 0;  // sizes
  };

  void Restart(const char *api, CubeOperand &operand, const CubeType &type, Site site);
  void CheckTypes(Site site);
  void CheckTiling(Site site);
  void CheckCapacity(Site site);
  void CheckShape(Instr &in);
  void CheckBias(Instr &in, bool partial);
  void CheckCall(Instr &in, bool partial);
  void CheckFetch(Instr &in, int64_t atomic, bool local);
  void CheckResult(Instr &in, bool local);
  void CheckPosition(const char *api, const CubeOperand &operand, const CubeType &type, Site site);
  int64_t L1Bytes() const;
  bool Begin(Instr &in, bool partial);
  Matrix Stored(bool left) const;
  bool Take(Instr &in, const char *name, CubeOperand &operand, const Matrix &matrix);
  bool TakeBias(Instr &in);
  Tile TileAt(int64_t number) const;
  void Compute(const Tile &tile, bool partial);
  void Widen(const Matrix &matrix, int64_t row, int64_t rows, int64_t column, int64_t columns, float *to, int64_t pitch) const;
  const float *LeftPanel(const Tile &tile, int64_t k, int64_t depth, int64_t &rowStep, int64_t &depthStep);
  const float *RightPanel(const Tile &tile, int64_t k, int64_t depth);
  int64_t Identity(const CubeOperand &operand) const;
  void AddBias(const Tile &tile);
  void CountLoads(const Tile &tile);
  int64_t LoadBytes(const Matrix &matrix, bool left, int64_t first, int64_t count) const;
  bool StoreGlobal(Instr &in, const Tile &tile, const GlobalBytes &gm, int64_t atomic, bool sequential, bool later = false);
  void Fetched();
  GlobalBytes Slot(int64_t number) const;
  void StoreLocal(Instr &in, const LocalBytes &ub, bool sequential);
  void Convert(const Tile &tile, int64_t row, uint8_t *to) const;
  bool Usable() const { return ready && slot >= 0; }
  int Record() const { return slot < kCubeObjects ? slot : kCubeObjects - 1; }  // in Core::cube

  int slot = -1;                                 // number among the core's objects
  bool ready = false;                            // Init was called
  bool begun = false;                            // tiles of the present operands were computed
  bool held = false;                             // a tile is in L0C and was not fetched
  bool biasGiven = false, biasDeclined = false;  // for the next computation
  bool biased = false;                           // the present one adds it
  int64_t orgM = 0, orgN = 0, orgKa = 0, orgKb = 0, orgKc = 0;
  int64_t singleM = 0, singleN = 0, singleK = 0;
  int64_t tilesM = 0, tilesN = 0, next = 0;
  Tile tile;                       // in L0C
  std::vector<float> accumulator;  // tile.rows x pitch of 32-bit sums (bits of int32 for integers)
  int64_t pitch = 0;
  int64_t residentA = -1, residentB = -1;                      // the group of base tiles that L1 holds
  int64_t laterTiles = 0, laterCounted = 0, laterFetched = 0;  // of Iterate<false>
  int64_t computation = 0;                                     // number of the present one
  int64_t waiting = 0;                                         // IterateAll<false> calls not waited for
  std::unique_ptr<CubePanels> panels;
};

void BeginRegistration(Site site, const void *workspace, bool cubeOnly);

}  // namespace twin
