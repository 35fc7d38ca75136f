// TPipe, TQue, TQueBind and TBuf: who may use which part of the unified buffer, and the order queues give.
#pragma once
#include <exception>

#include "sync.h"

namespace twin {

constexpr int kMaxBuffers = 64;

// The pipe that fills a queue's buffers, by the first position; the one that empties them, by the second.
constexpr Pipe Producer(AscendC::TPosition source) {
  return source == AscendC::TPosition::GM || source == AscendC::TPosition::VECIN ? Pipe::MTE2 : Pipe::V;
}
constexpr Pipe Consumer(AscendC::TPosition destination) {
  return destination == AscendC::TPosition::GM || destination == AscendC::TPosition::VECOUT ? Pipe::MTE3 : Pipe::V;
}
constexpr bool OnVectorCore(AscendC::TPosition p) {
  return p == AscendC::TPosition::GM || p == AscendC::TPosition::VECIN || p == AscendC::TPosition::VECOUT || p == AscendC::TPosition::VECCALC ||
         p == AscendC::TPosition::LCM;
}

// Hands out `bytes` of UB (rounded up to 32) and returns the buffer's index.
int TakeBuffer(Core &core, int64_t bytes, BufferState state, int owner, Site site);

// Reports queue buffers that were not given back.
void CheckLeaks(Core &core);

}  // namespace twin

namespace AscendC {

template <TPosition src, TPosition dst, int32_t depth, auto mask = 0>
class TQueBind {
 public:
  static constexpr bool isTQue = true;

  template <typename T>
  LocalTensor<T> AllocTensor(twin::Site site = twin::Site::Here()) {
    twin::Core &core = twin::Self();
    for (int tried = 0; tried < count; ++tried) {
      const int index = first + cursor;
      cursor = (cursor + 1) % count;
      twin::Buffer &buffer = core.buffers[static_cast<size_t>(index)];
      if (buffer.state != twin::BufferState::kFree) continue;
      buffer.state = twin::BufferState::kOccupied;
      buffer.touched = site;
      buffer.allocated = core.seq[static_cast<int>(kCopier)];
      core.Merge(kFrom, buffer.freed);
      twin::DropQueueEvent(core, kTo, kFrom, buffer.freedEvent);
      buffer.freedEvent = -1;
      twin::Instr::FillShadow(core, buffer.begin, buffer.end - buffer.begin, false);
      return LocalTensor<T>(buffer.begin, buffer.begin, buffer.end, index, kPosition);
    }
    if (count == 0) core.Report(twin::Law::kQueue, site, "AllocTensor", "AllocTensor: InitBuffer was not called for this queue");
    else core.Report(twin::Law::kQueue, site, "AllocTensor", "AllocTensor: none of the queue's %d buffers is free, the device would hang", count);
    core.Stop();
  }
  template <typename T>
  void AllocTensor(LocalTensor<T> &tensor, twin::Site site = twin::Site::Here()) {
    tensor = AllocTensor<T>(site);
  }

  template <typename T>
  bool EnQue(const LocalTensor<T> &tensor, twin::Site site = twin::Site::Here()) {
    twin::Core &core = twin::Self();
    twin::Buffer *buffer = Mine(core, tensor, "EnQue", site);
    if (buffer == nullptr) return false;
    if (buffer->state != twin::BufferState::kOccupied && buffer->state != twin::BufferState::kDequeued) {
      core.Report(twin::Law::kQueue, site, "EnQue", "EnQue: the tensor is %s", buffer->state == twin::BufferState::kQueued ? "already in the queue" : "free");
      return false;
    }
    if (waiting >= (depth > 0 ? depth : 1))
      core.Report(twin::Law::kQueue, site, "EnQue", "EnQue: %d tensors already wait in a queue of depth %d", waiting, depth);
    if (waiting >= kMaxWaiting) core.Stop();
    buffer->state = twin::BufferState::kQueued;
    buffer->ready = core.Snapshot(kFrom);
    buffer->readyEvent = twin::TakeQueueEvent(core, kFrom, kTo, "EnQue", site);
    fifo[(head + waiting) % kMaxWaiting] = tensor.buffer;
    ++waiting;
    return true;
  }

  template <typename T>
  LocalTensor<T> DeQue(twin::Site site = twin::Site::Here()) {
    twin::Core &core = twin::Self();
    if (waiting == 0) {
      core.Report(twin::Law::kQueue, site, "DeQue", "DeQue: the queue is empty");
      core.Stop();
    }
    const int index = fifo[head];
    head = (head + 1) % kMaxWaiting;
    --waiting;
    twin::Buffer &buffer = core.buffers[static_cast<size_t>(index)];
    buffer.state = twin::BufferState::kDequeued;
    core.Merge(kTo, buffer.ready);
    twin::DropQueueEvent(core, kFrom, kTo, buffer.readyEvent);
    buffer.readyEvent = -1;
    return LocalTensor<T>(buffer.begin, buffer.begin, buffer.end, index, kPosition);
  }
  template <typename T>
  void DeQue(LocalTensor<T> &tensor, twin::Site site = twin::Site::Here()) {
    tensor = DeQue<T>(site);
  }

  template <typename T>
  void FreeTensor(const LocalTensor<T> &tensor, twin::Site site = twin::Site::Here()) {
    twin::Core &core = twin::Self();
    twin::Buffer *buffer = Mine(core, tensor, "FreeTensor", site);
    if (buffer == nullptr) return;
    if (buffer->state != twin::BufferState::kOccupied && buffer->state != twin::BufferState::kDequeued) {
      core.Report(twin::Law::kQueue, site, "FreeTensor", "FreeTensor: the tensor is %s",
                  buffer->state == twin::BufferState::kQueued ? "still in the queue (DeQue is missing)" : "already free");
      return;
    }
    if (buffer->state == twin::BufferState::kOccupied && Copied(core, *buffer))
      core.Report(twin::Law::kQueue, site, "FreeTensor", "FreeTensor: a copy on %s used the tensor without the EnQue and DeQue that order it",
                  twin::PipeName(kCopier));
    buffer->state = twin::BufferState::kFree;
    buffer->freed = core.Snapshot(kTo);
    buffer->freedEvent = twin::TakeQueueEvent(core, kTo, kFrom, "FreeTensor", site);
  }

  bool HasTensorInQue() const { return waiting > 0; }
  int32_t GetTensorCountInQue() const { return waiting; }
  bool VacantInQue() const { return waiting < (depth > 0 ? depth : 1); }
  bool HasIdleBuffer() const {
    for (int i = 0; i < count; ++i)
      if (twin::Self().buffers[static_cast<size_t>(first + i)].state == twin::BufferState::kFree) return true;
    return false;
  }

  // TPipe::InitBuffer.
  void TwinInit(int64_t buffers, int64_t bytes, twin::Site site) {
    twin::Core &core = twin::Self();
    if (!twin::OnVectorCore(src) || !twin::OnVectorCore(dst)) {
      core.Report(twin::Law::kPipeType, site, "InitBuffer", "InitBuffer: the queue's positions are not those of a vector core");
      core.Stop();
    }
    if (buffers < 1 || buffers > twin::kMaxBuffers) {
      core.Report(twin::Law::kRange, site, "InitBuffer", "InitBuffer: the number of buffers is %lld, allowed are 1 to %d",
                  static_cast<long long>(buffers), twin::kMaxBuffers);
      buffers = 1;
    }
    id = core.queues++;
    count = static_cast<int>(buffers);
    first = static_cast<int>(core.buffers.size());
    for (int i = 0; i < count; ++i) twin::TakeBuffer(core, bytes, twin::BufferState::kFree, id, site);
  }

 private:
  static constexpr twin::Pipe kFrom = twin::Producer(src);
  static constexpr twin::Pipe kTo = twin::Consumer(dst);
  static constexpr twin::Pipe kCopier = kFrom == twin::Pipe::MTE2 ? kFrom : kTo;  // the pipe that copies, if one does
  static constexpr TPosition kPosition = src == TPosition::GM ? dst : src;
  static constexpr int kMaxWaiting = twin::kMaxBuffers;

  template <typename T>
  twin::Buffer *Mine(twin::Core &core, const LocalTensor<T> &tensor, const char *api, twin::Site site) {
    if (tensor.buffer >= 0 && core.buffers[static_cast<size_t>(tensor.buffer)].owner == id && id >= 0)
      return &core.buffers[static_cast<size_t>(tensor.buffer)];
    core.Report(twin::Law::kQueue, site, api, "%s: the tensor was not allocated from this queue", api);
    return nullptr;
  }

  // Whether the pipe that copies has used the buffer since it was allocated (facts C.3: a missing DeQue is an error).
  static bool Copied(const twin::Core &core, const twin::Buffer &buffer) {
    const int32_t *used = kCopier == twin::Pipe::MTE2 ? core.written[2] : kCopier == twin::Pipe::MTE3 ? core.readBy[3] : nullptr;
    if (used == nullptr) return false;
    for (int64_t block = buffer.begin / twin::kBlock; block < buffer.end / twin::kBlock; ++block)
      if (used[block] > buffer.allocated) return true;
    return false;
  }

  int id = -1, first = 0, count = 0, cursor = 0;
  int fifo[kMaxWaiting] = {};
  int head = 0, waiting = 0;
};

namespace twin_detail {
constexpr TPosition SourceOf(TPosition p) { return p == TPosition::VECIN ? TPosition::GM : p; }
constexpr TPosition DestinationOf(TPosition p) { return p == TPosition::VECOUT ? TPosition::GM : p; }
}  // namespace twin_detail

template <TPosition pos, int32_t depth, auto mask = 0>
class TQue : public TQueBind<twin_detail::SourceOf(pos), twin_detail::DestinationOf(pos), depth, mask> {};

template <TPosition pos = TPosition::LCM>
class TBuf {
 public:
  static constexpr bool isTQue = false;
  template <typename T>
  LocalTensor<T> Get(twin::Site site = twin::Site::Here()) {
    return Cut<T>(0, -1, site);
  }
  // `elements` from the start; every Get starts at the same place.
  template <typename T>
  LocalTensor<T> Get(int64_t elements, twin::Site site = twin::Site::Here()) {
    return Cut<T>(0, elements * static_cast<int64_t>(sizeof(T)), site);
  }
  // `elements` from `offset` bytes on.
  template <typename T>
  LocalTensor<T> GetWithOffset(int64_t elements, int64_t offset, twin::Site site = twin::Site::Here()) {
    return Cut<T>(offset, elements * static_cast<int64_t>(sizeof(T)), site);
  }
  uint32_t GetBufLen() const { return index < 0 ? 0 : static_cast<uint32_t>(Mine().end - Mine().begin); }
  void TwinInit(int64_t bytes, twin::Site site) { index = twin::TakeBuffer(twin::Self(), bytes, twin::BufferState::kStatic, -1, site); }

 private:
  const twin::Buffer &Mine() const { return twin::Self().buffers[static_cast<size_t>(index)]; }
  template <typename T>
  LocalTensor<T> Cut(int64_t offset, int64_t bytes, twin::Site site) {
    twin::Core &core = twin::Self();
    if (index < 0) {
      core.Report(twin::Law::kLocalBounds, site, "Get", "TBuf::Get: InitBuffer was not called for this buffer");
      core.Stop();
    }
    const int64_t length = Mine().end - Mine().begin;
    if (bytes < 0) bytes = length - offset;
    if (offset < 0 || offset + bytes > length)
      core.Report(twin::Law::kLocalBounds, site, "Get", "TBuf::Get: bytes %lld to %lld of a buffer of %lld", static_cast<long long>(offset),
                  static_cast<long long>(offset + bytes), static_cast<long long>(length));
    const int64_t begin = Mine().begin + offset;
    const int64_t end = begin + (bytes + twin::kBlock - 1) / twin::kBlock * twin::kBlock;
    LocalTensor<T> tensor(begin, begin, end, index, pos);
    tensor.length = bytes;
    return tensor;
  }
  int index = -1;
};

class TPipe {
 public:
  explicit TPipe(twin::Site site = twin::Site::Here()) { Init(site); }
  // A destructor must not throw: a core that stops here stops at its next report, one that is being stopped reports no more.
  ~TPipe() {
    if (twin::tlsCore == nullptr || twin::tlsCore->pipe != this) return;
    try {
      if (std::uncaught_exceptions() == 0) Destroy();
    } catch (const twin::StopCore &) {
    }
    twin::tlsCore->pipe = nullptr;
  }
  TPipe(const TPipe &) = delete;
  TPipe &operator=(const TPipe &) = delete;

  void Init(twin::Site site = twin::Site::Here()) {
    twin::Core &core = twin::Self();
    if (core.pipe != nullptr && core.pipe != this)
      core.Report(twin::Law::kSinglePipe, site, "TPipe", "a second TPipe is made while one is alive");
    core.pipe = this;
  }
  void Destroy() {
    if (twin::tlsCore == nullptr || twin::tlsCore->pipe != this) return;
    Reset();
    twin::tlsCore->pipe = nullptr;
  }
  // All buffers and the event ids of their queues are taken back; tensors cut from them must not be used any more.
  void Reset() {
    twin::Core &core = twin::Self();
    twin::CheckLeaks(core);
    core.BarrierAll();
    core.highWater = 0;
    core.liveBuffers = 0;
    for (twin::Flags &flags : core.flags) flags.queued = 0;
  }
  template <class Q>
  bool InitBuffer(Q &queue, int64_t num, int64_t len, twin::Site site = twin::Site::Here()) {
    static_assert(Q::isTQue, "InitBuffer(queue, num, len) is for queues");
    queue.TwinInit(num, len, site);
    return true;
  }
  template <TPosition pos>
  bool InitBuffer(TBuf<pos> &buffer, int64_t len, twin::Site site = twin::Site::Here()) {
    buffer.TwinInit(len, site);
    return true;
  }
  // The lowest free id of the event, not reserved.
  TEventID FetchEventID(HardEvent event, twin::Site site = twin::Site::Here()) { return Free(event, "FetchEventID", site); }
  template <HardEvent event>
  TEventID FetchEventID(twin::Site site = twin::Site::Here()) {
    return Free(event, "FetchEventID", site);
  }
  template <HardEvent event>
  TEventID AllocEventID(twin::Site site = twin::Site::Here()) {
    const TEventID id = Free(event, "AllocEventID", site);
    if (static_cast<int>(event) < twin::kEvents) {
      twin::Flags &flags = twin::Self().flags[static_cast<int>(event)];
      flags.reserved = static_cast<uint8_t>(flags.reserved | 1u << id);
    }
    return id;
  }
  template <HardEvent event>
  void ReleaseEventID(int64_t id, twin::Site site = twin::Site::Here()) {
    twin::Core &core = twin::Self();
    if (!twin::EventLegal(core, static_cast<int>(event), id, "ReleaseEventID", site)) return;
    twin::Flags &flags = core.flags[static_cast<int>(event)];
    if ((flags.reserved >> id & 1) == 0)
      core.Report(twin::Law::kSyncCount, site, "ReleaseEventID", "ReleaseEventID<%s>(%d): the id was not allocated",
                  twin::EventName(static_cast<int>(event)).c_str(), static_cast<int>(id));
    flags.reserved = static_cast<uint8_t>(flags.reserved & ~(1u << id));
  }

 private:
  TEventID Free(HardEvent event, const char *api, twin::Site site) {
    twin::Core &core = twin::Self();
    if (!twin::EventLegal(core, static_cast<int>(event), 0, api, site)) return 0;
    const int id = twin::FreeEventId(core.flags[static_cast<int>(event)]);
    if (id < 0) {
      core.Report(twin::Law::kBufferCount, site, api, "%s<%s>: all %d event ids are held", api,
                  twin::EventName(static_cast<int>(event)).c_str(), twin::kEventIds);
      return 0;
    }
    return static_cast<TEventID>(id);
  }
};

inline TPipe *GetTPipePtr() { return static_cast<TPipe *>(twin::Self().pipe); }

}  // namespace AscendC
