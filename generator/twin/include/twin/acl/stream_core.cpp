// Streams and events as objects: a worker thread per stream runs its tasks in order; failures are held until somebody waits.
#include <chrono>

#include "state.h"

namespace twin {
namespace acl {
namespace {

uint64_t NextNumber() {
  static std::atomic<uint64_t> number{0};
  return ++number;
}

template <typename Ready>
bool WaitFor(std::condition_variable &changed, std::unique_lock<std::mutex> &lock, int milliseconds, const Ready &ready) {
  if (milliseconds < 0) {
    changed.wait(lock, ready);
    return true;
  }
  return changed.wait_until(lock, std::chrono::system_clock::now() + std::chrono::milliseconds(milliseconds), ready);
}

}  // namespace

Stream::Stream(int onDevice) : device(onDevice), number(NextNumber()) {
  worker = std::thread([this] { Work(); });
}

Stream::~Stream() {
  {
    std::lock_guard<std::mutex> lock(guard);
    stop = true;
  }
  changed.notify_all();
  if (worker.get_id() == std::this_thread::get_id())
    worker.detach();
  else
    worker.join();
}

void Stream::Work() {
  std::unique_lock<std::mutex> lock(guard);
  for (;;) {
    changed.wait(lock, [this] { return stop || !tasks.empty(); });
    if (stop) {  // events and callbacks still happen, so that nobody waits for them in vain
      std::deque<Task> left;
      left.swap(tasks);
      lock.unlock();
      for (const Task &task : left)
        if (task.always) task.run();
      return;
    }
    Task task = std::move(tasks.front());
    tasks.pop_front();
    const bool run = task.always || failure.code == 0;
    lock.unlock();
    Failure result;
    if (run) {
      try {
        result = task.run();
      } catch (const std::exception &problem) {
        result = Failure{ACL_ERROR_RT_INTERNAL_ERROR, problem.what()};
      }
    }
    const aclrtExceptionInfoCallback tell = result.code == 0 ? nullptr : TheProcess().onException.load();
    if (tell != nullptr) tell(reinterpret_cast<aclrtExceptionInfo *>(&result));  // opaque to it
    task = Task();  // what it holds is released before anybody is told that it is done
    lock.lock();
    if (failure.code == 0) failure = result;
    ++done;
    changed.notify_all();
  }
}

uint64_t Stream::Push(Task task) {
  std::lock_guard<std::mutex> lock(guard);
  tasks.push_back(std::move(task));
  changed.notify_all();
  return ++queued;
}

bool Stream::Wait(int milliseconds) {
  uint64_t target = 0;
  {
    std::unique_lock<std::mutex> lock(guard);
    target = queued;
    if (!WaitFor(changed, lock, milliseconds, [&] { return done >= target; })) return false;
  }
  Observe(number, target);
  return true;
}

bool Stream::Idle() {
  uint64_t upTo = 0;
  {
    std::lock_guard<std::mutex> lock(guard);
    if (done < queued) return false;
    upTo = done;
  }
  Observe(number, upTo);
  return true;
}

Failure Stream::Failed() {
  std::lock_guard<std::mutex> lock(guard);
  return failure;
}

void Stream::SetFailure(const Failure &what) {
  std::lock_guard<std::mutex> lock(guard);
  if (failure.code == 0) failure = what;
}

uint64_t Stream::Queued() {
  std::lock_guard<std::mutex> lock(guard);
  return queued;
}

uint64_t Event::Record(const Mark &at) {
  std::lock_guard<std::mutex> lock(guard);
  mark = at;
  return ++recorded;
}

void Event::Complete(uint64_t recording) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  std::lock_guard<std::mutex> lock(guard);
  if (recording > completed) completed = recording;
  time = static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(now).count());
  changed.notify_all();
}

bool Event::Wait(uint64_t recording, int milliseconds) {
  std::unique_lock<std::mutex> lock(guard);
  return WaitFor(changed, lock, milliseconds, [&] { return completed >= recording; });
}

bool Event::Complete() {
  std::lock_guard<std::mutex> lock(guard);
  return completed >= recorded;
}

uint64_t Event::Recorded() {
  std::lock_guard<std::mutex> lock(guard);
  return recorded;
}

Mark Event::Where() {
  std::lock_guard<std::mutex> lock(guard);
  return mark;
}

uint64_t Event::Time() {
  std::lock_guard<std::mutex> lock(guard);
  return completed == 0 || completed < recorded ? 0 : time;
}

// --- what the host has waited for -------------------------------------------------------------------------------------

namespace {

struct Order {
  std::mutex guard;
  std::map<uint64_t, uint64_t> observed;
  std::map<uint64_t, std::vector<std::pair<uint64_t, Mark>>> waits;  // by waiting stream: its position, what it waited for
};
Order &TheOrder() {
  static Order &order = *new Order;
  return order;
}

}  // namespace

void Observe(uint64_t stream, uint64_t upTo) {
  Order &order = TheOrder();
  std::lock_guard<std::mutex> lock(order.guard);
  std::vector<Mark> todo{Mark{stream, upTo}};
  while (!todo.empty()) {
    const Mark mark = todo.back();
    todo.pop_back();
    uint64_t &seen = order.observed[mark.stream];
    if (mark.upTo <= seen) continue;
    seen = mark.upTo;
    std::vector<std::pair<uint64_t, Mark>> left;
    for (const auto &wait : order.waits[mark.stream]) {
      if (wait.first <= mark.upTo)
        todo.push_back(wait.second);
      else
        left.push_back(wait);
    }
    order.waits[mark.stream] = std::move(left);
  }
}

void Depend(const Mark &waiter, const Mark &on) {
  Order &order = TheOrder();
  std::lock_guard<std::mutex> lock(order.guard);
  order.waits[waiter.stream].emplace_back(waiter.upTo, on);
}

bool Observed(const Mark &mark) {
  Order &order = TheOrder();
  std::lock_guard<std::mutex> lock(order.guard);
  const auto found = order.observed.find(mark.stream);
  return found != order.observed.end() && found->second >= mark.upTo;
}

void ForgetStreams() {
  Order &order = TheOrder();
  std::lock_guard<std::mutex> lock(order.guard);
  order.observed.clear();
  order.waits.clear();
}

}  // namespace acl
}  // namespace twin
