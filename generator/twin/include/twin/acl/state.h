// Inside the runtime's library: its streams, events and contexts, and the tables of what is alive.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "runtime.h"

namespace twin {
namespace acl {

// Tasks up to `upTo` of the stream `number`.
struct Mark {
  uint64_t stream = 0, upTo = 0;
};

struct Task {
  std::function<Failure()> run;
  bool always = false;  // also after a failure: events and callbacks
};

// An ordered queue with a thread of its own.
class Stream {
 public:
  explicit Stream(int onDevice);
  ~Stream();                 // what is queued is dropped, what runs is waited for
  uint64_t Push(Task task);  // its position in the stream, from 1
  // Waits for everything queued so far; false when `milliseconds` (negative: no limit) were not enough.
  bool Wait(int milliseconds);
  bool Idle();
  Failure Failed();
  void SetFailure(const Failure &failure);
  uint64_t Queued();

  const int device;
  const uint64_t number;  // from 1, never reused

 private:
  void Work();
  std::mutex guard;
  std::condition_variable changed;
  std::deque<Task> tasks;
  uint64_t queued = 0, done = 0;
  bool stop = false;
  Failure failure;
  std::thread worker;
};

// A point in a stream that others wait for.
class Event {
 public:
  uint64_t Record(const Mark &at);  // returns the number of this recording
  void Complete(uint64_t recording);
  bool Wait(uint64_t recording, int milliseconds);
  bool Complete();
  uint64_t Recorded();
  Mark Where();
  // Microseconds of the last completed recording; 0 when there is none.
  uint64_t Time();

 private:
  std::mutex guard;
  std::condition_variable changed;
  uint64_t recorded = 0, completed = 0, time = 0;
  Mark mark;
};

struct Context {
  int device = 0;
  std::shared_ptr<Stream> main;  // the default stream
};

// Everything alive, under one lock that is never held while waiting. Never destroyed: threads may outlive main.
struct Process {
  std::mutex guard;
  bool ready = false, wasReady = false;
  const Product *product = nullptr;
  std::map<void *, std::shared_ptr<Stream>> streams;
  std::map<void *, std::shared_ptr<Event>> events;
  std::map<void *, std::shared_ptr<Context>> contexts;
  std::map<int, std::pair<std::shared_ptr<Context>, int>> devices;  // default context, times set
  std::vector<std::vector<Leak> (*)()> reports;
  int kernelSeconds = 600;
  std::atomic<aclrtExceptionInfoCallback> onException{nullptr};  // called by the stream's thread when a task fails
};
Process &TheProcess();

// What the host has waited for, by stream; and which waits of one stream stand for work of another.
void Observe(uint64_t stream, uint64_t upTo);
void Depend(const Mark &waiter, const Mark &on);
bool Observed(const Mark &mark);
void ForgetStreams();

// Whether an address is one of device memory, and why host memory cannot be accessed there; empty when nothing speaks against it.
bool IsDevice(const void *address);
std::string HostFault(const void *address, size_t bytes);

// Every use of a block that has been queued, the latest of each stream.
struct UseMark {
  Mark mark;
  bool write;
};
std::vector<UseMark> UsesOf(const std::shared_ptr<Block> &block);
void Remember(const std::shared_ptr<Block> &block, const Mark &mark, bool write);

std::vector<Leak> MemoryLeaks();
void ReleaseMemory();

// The stream a handle names, or the default one; null after the message.
std::shared_ptr<Stream> StreamOf(aclrtStream handle, const char *api, aclError *code);
std::vector<std::shared_ptr<Stream>> StreamsOf(int device);
// Waits, and reports what a stream held back.
aclError Synchronize(const std::shared_ptr<Stream> &stream, int milliseconds, const char *api);

struct ThreadState {
  std::shared_ptr<Context> context;
};
ThreadState &TheThread();

}  // namespace acl
}  // namespace twin
