// The interface of streams and events.
#include "state.h"

namespace twin {
namespace acl {

std::shared_ptr<Stream> StreamOf(aclrtStream handle, const char *api, aclError *code) {
  *code = NeedDevice(api);
  if (*code != 0) return nullptr;
  if (handle == nullptr) return TheThread().context->main;
  Process &process = TheProcess();
  std::shared_ptr<Stream> stream;
  {
    std::lock_guard<std::mutex> lock(process.guard);
    const auto found = process.streams.find(handle);
    if (found != process.streams.end()) stream = found->second;
  }
  if (stream == nullptr) {
    *code = Fail(ACL_ERROR_RT_INVALID_HANDLE, "%s: %p is not a stream", api, handle);
    return nullptr;
  }
  if (stream->device == CurrentDevice()) return stream;
  *code =
      Fail(ACL_ERROR_RT_STREAM_CONTEXT, "%s: the stream is of device %d, this thread's device is %d", api, stream->device, CurrentDevice());
  return nullptr;
}

std::vector<std::shared_ptr<Stream>> StreamsOf(int device) {
  Process &process = TheProcess();
  std::lock_guard<std::mutex> lock(process.guard);
  std::vector<std::shared_ptr<Stream>> found;
  const auto add = [&](const std::shared_ptr<Stream> &stream) {
    if (stream != nullptr && (device < 0 || stream->device == device)) found.push_back(stream);
  };
  for (const auto &entry : process.streams) add(entry.second);
  for (const auto &entry : process.devices) add(entry.second.first->main);
  for (const auto &entry : process.contexts) add(entry.second->main);
  return found;
}

aclError Synchronize(const std::shared_ptr<Stream> &stream, int milliseconds, const char *api) {
  if (!stream->Wait(milliseconds)) return Fail(ACL_ERROR_RT_WAIT_TIMEOUT, "%s: the stream is still busy after %d ms", api, milliseconds);
  const Failure failure = stream->Failed();
  return failure.code == 0 ? 0 : Fail(failure.code, "%s: %s", api, failure.text.c_str());
}

aclError Enqueue(aclrtStream handle, const char *api, std::vector<Use> uses, std::function<Failure()> run) {
  aclError bad = 0;
  const std::shared_ptr<Stream> stream = StreamOf(handle, api, &bad);
  if (stream == nullptr) return bad;
  Task task;
  task.run = [uses, run] { return run(); };
  const Mark mark{stream->number, stream->Push(std::move(task))};
  for (const Use &use : uses) Remember(use.block, mark, use.write);
  return 0;
}

namespace {

std::shared_ptr<Event> EventOf(aclrtEvent handle, const char *api, aclError *code) {
  Process &process = TheProcess();
  {
    std::lock_guard<std::mutex> lock(process.guard);
    const auto found = process.events.find(handle);
    if (found != process.events.end()) return found->second;
  }
  *code = Fail(ACL_ERROR_RT_INVALID_HANDLE, "%s: %p is not an event", api, handle);
  return nullptr;
}

aclError MakeStream(const char *api, aclrtStream *stream) {
  const aclError bad = NeedDevice(api);
  if (bad != 0) return bad;
  if (stream == nullptr) return Fail(ACL_ERROR_INVALID_PARAM, "%s: stream is null", api);
  const auto made = std::make_shared<Stream>(CurrentDevice());
  Process &process = TheProcess();
  std::lock_guard<std::mutex> lock(process.guard);
  process.streams[made.get()] = made;
  *stream = made.get();
  return 0;
}

aclError EndStream(const char *api, aclrtStream handle, bool wait) {
  if (handle == nullptr) return Fail(ACL_ERROR_INVALID_PARAM, "%s: stream is null", api);
  aclError bad = 0;
  const std::shared_ptr<Stream> stream = StreamOf(handle, api, &bad);
  if (stream == nullptr) return bad;
  if (wait) stream->Wait(-1);
  Process &process = TheProcess();
  {
    std::lock_guard<std::mutex> lock(process.guard);
    process.streams.erase(handle);
  }
  Observe(stream->number, stream->Queued());
  return 0;
}

aclError MakeEvent(const char *api, aclrtEvent *event) {
  const aclError bad = NeedDevice(api);
  if (bad != 0) return bad;
  if (event == nullptr) return Fail(ACL_ERROR_INVALID_PARAM, "%s: event is null", api);
  const auto made = std::make_shared<Event>();
  Process &process = TheProcess();
  std::lock_guard<std::mutex> lock(process.guard);
  process.events[made.get()] = made;
  *event = made.get();
  return 0;
}

aclError SyncDevice(const char *api, int timeout) {
  aclError result = NeedDevice(api);
  if (result != 0) return result;
  for (const std::shared_ptr<Stream> &stream : StreamsOf(CurrentDevice())) {
    const aclError one = Synchronize(stream, timeout, api);
    if (result == 0) result = one;
  }
  return result;
}

aclError SyncEvent(const char *api, aclrtEvent handle, int timeout) {
  aclError bad = NeedDevice(api);
  if (bad != 0) return bad;
  const std::shared_ptr<Event> event = EventOf(handle, api, &bad);
  if (event == nullptr) return bad;
  const Mark mark = event->Where();
  if (!event->Wait(event->Recorded(), timeout))
    return Fail(ACL_ERROR_RT_WAIT_TIMEOUT, "%s: the event is not complete after %d ms", api, timeout);
  if (mark.stream != 0) Observe(mark.stream, mark.upTo);
  for (const std::shared_ptr<Stream> &stream : StreamsOf(-1)) {
    const Failure failure = stream->number == mark.stream ? stream->Failed() : Failure();
    if (failure.code != 0) return Fail(failure.code, "%s: %s", api, failure.text.c_str());
  }
  return 0;
}

bool BadTimeout(int32_t timeout) { return timeout < -1; }

}  // namespace
}  // namespace acl
}  // namespace twin

using namespace twin::acl;

extern "C" {

TWIN_ACL_EXPORT aclError aclrtCreateStream(aclrtStream *stream) { return MakeStream("aclrtCreateStream", stream); }
TWIN_ACL_EXPORT aclError aclrtCreateStreamWithConfig(aclrtStream *stream, uint32_t, uint32_t) {
  return MakeStream("aclrtCreateStreamWithConfig", stream);
}
TWIN_ACL_EXPORT aclError aclrtDestroyStream(aclrtStream stream) { return EndStream("aclrtDestroyStream", stream, true); }
TWIN_ACL_EXPORT aclError aclrtDestroyStreamForce(aclrtStream stream) { return EndStream("aclrtDestroyStreamForce", stream, false); }

TWIN_ACL_EXPORT aclError aclrtSynchronizeStreamWithTimeout(aclrtStream handle, int32_t timeout) {
  aclError bad = 0;
  const std::shared_ptr<Stream> stream = StreamOf(handle, "aclrtSynchronizeStream", &bad);
  if (stream == nullptr) return bad;
  if (BadTimeout(timeout))
    return Fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtSynchronizeStreamWithTimeout: timeout is %d, expected -1 or more", timeout);
  return Synchronize(stream, timeout, "aclrtSynchronizeStream");
}
TWIN_ACL_EXPORT aclError aclrtSynchronizeStream(aclrtStream stream) { return aclrtSynchronizeStreamWithTimeout(stream, -1); }

TWIN_ACL_EXPORT aclError aclrtStreamQuery(aclrtStream handle, aclrtStreamStatus *status) {
  if (status == nullptr) return Fail(ACL_ERROR_INVALID_PARAM, "aclrtStreamQuery: status is null");
  aclError bad = 0;
  const std::shared_ptr<Stream> stream = StreamOf(handle, "aclrtStreamQuery", &bad);
  if (stream == nullptr) return bad;
  *status = stream->Idle() ? ACL_STREAM_STATUS_COMPLETE : ACL_STREAM_STATUS_NOT_READY;
  return 0;
}

TWIN_ACL_EXPORT aclError aclrtSynchronizeDevice(void) { return SyncDevice("aclrtSynchronizeDevice", -1); }
TWIN_ACL_EXPORT aclError aclrtSynchronizeDeviceWithTimeout(int32_t timeout) {
  if (BadTimeout(timeout))
    return Fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtSynchronizeDeviceWithTimeout: timeout is %d, expected -1 or more", timeout);
  return SyncDevice("aclrtSynchronizeDeviceWithTimeout", timeout);
}

TWIN_ACL_EXPORT aclError aclrtCreateEvent(aclrtEvent *event) { return MakeEvent("aclrtCreateEvent", event); }
TWIN_ACL_EXPORT aclError aclrtCreateEventWithFlag(aclrtEvent *event, uint32_t) { return MakeEvent("aclrtCreateEventWithFlag", event); }
TWIN_ACL_EXPORT aclError aclrtCreateEventExWithFlag(aclrtEvent *event, uint32_t) { return MakeEvent("aclrtCreateEventExWithFlag", event); }

TWIN_ACL_EXPORT aclError aclrtDestroyEvent(aclrtEvent handle) {
  aclError bad = NeedDevice("aclrtDestroyEvent");
  if (bad != 0 || EventOf(handle, "aclrtDestroyEvent", &bad) == nullptr) return bad;
  Process &process = TheProcess();
  std::lock_guard<std::mutex> lock(process.guard);
  process.events.erase(handle);
  return 0;
}

TWIN_ACL_EXPORT aclError aclrtRecordEvent(aclrtEvent handle, aclrtStream onStream) {
  aclError bad = 0;
  const std::shared_ptr<Stream> stream = StreamOf(onStream, "aclrtRecordEvent", &bad);
  if (stream == nullptr) return bad;
  const std::shared_ptr<Event> event = EventOf(handle, "aclrtRecordEvent", &bad);
  if (event == nullptr) return bad;
  const uint64_t recording = event->Record(Mark{stream->number, stream->Queued()});
  Task task;
  task.always = true;
  task.run = [event, recording] {
    event->Complete(recording);
    return Failure();
  };
  stream->Push(std::move(task));
  return 0;
}

TWIN_ACL_EXPORT aclError aclrtResetEvent(aclrtEvent handle, aclrtStream onStream) {
  aclError bad = 0;
  if (StreamOf(onStream, "aclrtResetEvent", &bad) == nullptr || EventOf(handle, "aclrtResetEvent", &bad) == nullptr) return bad;
  return 0;  // the next recording replaces this one
}

TWIN_ACL_EXPORT aclError aclrtStreamWaitEvent(aclrtStream onStream, aclrtEvent handle) {
  aclError bad = 0;
  const std::shared_ptr<Stream> stream = StreamOf(onStream, "aclrtStreamWaitEvent", &bad);
  if (stream == nullptr) return bad;
  const std::shared_ptr<Event> event = EventOf(handle, "aclrtStreamWaitEvent", &bad);
  if (event == nullptr) return bad;
  const uint64_t recording = event->Recorded();
  const Mark on = event->Where();
  Task task;
  task.always = true;
  task.run = [event, recording] {
    event->Wait(recording, -1);
    return Failure();
  };
  const uint64_t position = stream->Push(std::move(task));
  if (on.stream != 0) Depend(Mark{stream->number, position}, on);
  return 0;
}

TWIN_ACL_EXPORT aclError aclrtQueryEventStatus(aclrtEvent handle, aclrtEventRecordedStatus *status) {
  aclError bad = NeedDevice("aclrtQueryEventStatus");
  if (bad != 0) return bad;
  if (status == nullptr) return Fail(ACL_ERROR_INVALID_PARAM, "aclrtQueryEventStatus: status is null");
  const std::shared_ptr<Event> event = EventOf(handle, "aclrtQueryEventStatus", &bad);
  if (event == nullptr) return bad;
  const Mark mark = event->Where();
  const bool complete = event->Complete();
  if (complete && mark.stream != 0) Observe(mark.stream, mark.upTo);
  *status = complete ? ACL_EVENT_RECORDED_STATUS_COMPLETE : ACL_EVENT_RECORDED_STATUS_NOT_READY;
  return 0;
}

TWIN_ACL_EXPORT aclError aclrtSynchronizeEvent(aclrtEvent event) { return SyncEvent("aclrtSynchronizeEvent", event, -1); }
TWIN_ACL_EXPORT aclError aclrtSynchronizeEventWithTimeout(aclrtEvent event, int32_t timeout) {
  if (BadTimeout(timeout))
    return Fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtSynchronizeEventWithTimeout: timeout is %d, expected -1 or more", timeout);
  return SyncEvent("aclrtSynchronizeEventWithTimeout", event, timeout);
}

TWIN_ACL_EXPORT aclError aclrtEventGetTimestamp(aclrtEvent handle, uint64_t *timestamp) {
  aclError bad = NeedDevice("aclrtEventGetTimestamp");
  if (bad != 0) return bad;
  if (timestamp == nullptr) return Fail(ACL_ERROR_INVALID_PARAM, "aclrtEventGetTimestamp: timestamp is null");
  const std::shared_ptr<Event> event = EventOf(handle, "aclrtEventGetTimestamp", &bad);
  if (event == nullptr) return bad;
  *timestamp = event->Time();
  return *timestamp == 0
             ? Fail(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID, "aclrtEventGetTimestamp: the event was not recorded or is not complete")
             : 0;
}

TWIN_ACL_EXPORT aclError aclrtEventElapsedTime(float *ms, aclrtEvent startEvent, aclrtEvent endEvent) {
  uint64_t start = 0, end = 0;
  if (ms == nullptr) return Fail(ACL_ERROR_INVALID_PARAM, "aclrtEventElapsedTime: ms is null");
  aclError bad = aclrtEventGetTimestamp(startEvent, &start);
  if (bad == 0) bad = aclrtEventGetTimestamp(endEvent, &end);
  if (bad == 0) *ms = static_cast<float>(static_cast<double>(static_cast<int64_t>(end - start)) / 1000.0);
  return bad;
}

TWIN_ACL_EXPORT aclError aclrtLaunchCallback(aclrtCallback fn, void *userData, aclrtCallbackBlockType blockType, aclrtStream onStream) {
  static_cast<void>(blockType);
  aclError bad = 0;
  const std::shared_ptr<Stream> stream = StreamOf(onStream, "aclrtLaunchCallback", &bad);
  if (stream == nullptr) return bad;
  if (fn == nullptr) return Fail(ACL_ERROR_INVALID_PARAM, "aclrtLaunchCallback: fn is null");
  Task task;
  task.always = true;
  task.run = [fn, userData] {
    fn(userData);
    return Failure();
  };
  stream->Push(std::move(task));
  return 0;
}

}  // extern "C"
