// Streams, events and graphs of the fake driver.
#include "argosy/device/cuda/fake/fake_driver_state.h"

namespace argosy::cuda::fake {

void FakeDriver::State::note(Call::How how, const Stream* stream, std::string what, std::uint64_t bytes,
                             std::uint64_t blocks) {
  asked_for = nullptr;
  if (!keeps_calls && log == nullptr) return;
  Call call{.how = how,
            .what = std::move(what),
            .node = current_node(),
            .stream = stream != nullptr ? stream->number : -1,
            .bytes = bytes,
            .blocks = blocks};
  if (log != nullptr) std::fprintf(log, "%s\n", call.text().c_str());
  if (keeps_calls) calls_kept.push_back(std::move(call));
}

CuResult FakeDriver::State::push(Stream* stream, Operation operation) {
  if (stream->capture != nullptr) {
    if (stream->capture->invalid) return kCuCaptureInvalidated;
    note(stream, operation, Call::How::kCaptured);
    stream->capture->operations.push_back(std::move(operation));
    return kCuSuccess;
  }
  if (stream->context->gpu->broken != kCuSuccess) return stream->context->gpu->broken;
  note(stream, operation);
  return enqueue(stream, std::move(operation));
}

CuResult FakeDriver::State::enqueue(Stream* stream, Operation operation) {
  stream->queue.push_back(std::move(operation));
  changed.notify_all();
  return kCuSuccess;
}

CuResult FakeDriver::State::invalidate(Stream* stream, CuResult why) {
  stream->capture->invalid = true;
  return why;
}

CuResult FakeDriver::State::wait_until_idle(std::unique_lock<std::mutex>& lock, Stream* stream) {
  changed.wait(lock, [&] { return stream->queue.empty() && !stream->busy; });
  return stream->context->gpu->broken;
}

void FakeDriver::State::serve(Stream* stream) {
  std::unique_lock lock(mutex);
  GpuState* const gpu = stream->context->gpu;
  while (true) {
    changed.wait(lock, [&] { return stream->closing || !stream->queue.empty(); });
    if (stream->queue.empty()) return;
    Operation operation = std::move(stream->queue.front());
    stream->queue.pop_front();
    stream->busy = true;
    if (operation.waits != nullptr) {
      changed.wait(lock, [&] { return operation.waits->reached || gpu->broken != kCuSuccess; });
    }
    if (operation.run && gpu->broken == kCuSuccess) {
      if (operation.touches_memory) touch(gpu, true);
      lock.unlock();
      const CuResult result = operation.run();
      lock.lock();
      if (operation.touches_memory) touch(gpu, false);
      if (result != kCuSuccess && gpu->broken == kCuSuccess) gpu->broken = result;
    }
    if (operation.reaches != nullptr) operation.reaches->reached = true;
    operation = {};
    stream->busy = false;
    changed.notify_all();
  }
}

namespace {

using State = FakeDriver::State;

constexpr int kGreatestPriority = -5;

CuResult stream_create_with_priority(CuStream* out, unsigned flags, int priority) {
  Context* const context = current_context();
  // Without this flag the legacy stream and the new one would wait for each other.
  if (flags != kCuStreamNonBlocking || priority > 0 || priority < kGreatestPriority) return kCuInvalidValue;
  if (context == nullptr) return kCuInvalidContext;
  if (const CuResult error = current_error(); error != kCuSuccess) return error;
  State* const s = State::current();
  auto* const stream = new Stream{.context = context, .priority = priority};
  stream->thread = std::thread([s, stream] { s->serve(stream); });
  std::lock_guard lock(s->mutex);
  stream->number = s->streams_made++;
  s->objects.insert(stream);
  s->streams.insert(stream);
  *out = reinterpret_cast<CuStream>(stream);
  return kCuSuccess;
}
CuResult stream_create(CuStream* out, unsigned flags) { return stream_create_with_priority(out, flags, 0); }
CuResult priority_range(int* least, int* greatest) {
  if (current_context() == nullptr) return kCuInvalidContext;
  *least = 0;
  *greatest = kGreatestPriority;
  return kCuSuccess;
}
CuResult stream_destroy(CuStream handle) {
  State* const s = State::current();
  auto* const stream = reinterpret_cast<Stream*>(handle);
  {
    std::lock_guard lock(s->mutex);
    stream->closing = true;
    s->objects.erase(stream);
    s->streams.erase(stream);
    s->changed.notify_all();
  }
  stream->thread.join();
  delete stream;
  return kCuSuccess;
}
CuResult stream_synchronize(CuStream handle) {
  State* const s = State::current();
  auto* const stream = reinterpret_cast<Stream*>(handle);
  std::unique_lock lock(s->mutex);
  if (stream->capture != nullptr) return State::invalidate(stream, kCuCaptureUnsupported);
  ++s->counts.host_waits;
  s->note(Call::How::kCalled, stream, "host waits");
  return s->wait_until_idle(lock, stream);
}
CuResult stream_wait(CuStream handle, CuEvent event_handle, unsigned) {
  State* const s = State::current();
  auto* const stream = reinterpret_cast<Stream*>(handle);
  std::lock_guard lock(s->mutex);
  const auto* const event = reinterpret_cast<EventObject*>(event_handle);
  if (event->capture != nullptr && stream->capture == nullptr) {  // the stream records from here on
    stream->capture = event->capture;
    event->capture->joined.insert(stream);
    return kCuSuccess;
  }
  if (stream->capture != nullptr) {
    // The event is from outside the capture: the wait would be lost in a replay.
    if (stream->capture != event->capture) return State::invalidate(stream, kCuCaptureIsolation);
    return kCuSuccess;
  }
  const std::shared_ptr<Ticket> ticket = event->ticket;
  if (ticket == nullptr || ticket->reached) {
    s->note(Call::How::kCalled, stream, "wait");
    return kCuSuccess;
  }
  return s->push(stream, {.name = "wait", .waits = ticket});
}

CuResult event_create(CuEvent* out, unsigned) {
  if (current_context() == nullptr) return kCuInvalidContext;
  if (const CuResult error = current_error(); error != kCuSuccess) return error;
  State* const s = State::current();
  auto* const event = new EventObject{.context = current_context()};
  std::lock_guard lock(s->mutex);
  s->objects.insert(event);
  *out = reinterpret_cast<CuEvent>(event);
  return kCuSuccess;
}
CuResult event_destroy(CuEvent handle) {
  State* const s = State::current();
  auto* const event = reinterpret_cast<EventObject*>(handle);
  std::lock_guard lock(s->mutex);
  s->objects.erase(event);
  delete event;
  return kCuSuccess;
}
CuResult event_record(CuEvent handle, CuStream stream_handle) {
  State* const s = State::current();
  auto* const event = reinterpret_cast<EventObject*>(handle);
  auto* const stream = reinterpret_cast<Stream*>(stream_handle);
  if (event->context != stream->context) return kCuInvalidHandle;
  std::lock_guard lock(s->mutex);
  event->capture = stream->capture;
  if (stream->capture != nullptr) return stream->capture->invalid ? kCuCaptureInvalidated : kCuSuccess;
  auto ticket = std::make_shared<Ticket>();
  const CuResult result = s->push(stream, {.name = "record", .reaches = ticket});
  if (result == kCuSuccess) event->ticket = std::move(ticket);
  return result;
}
CuResult event_query(CuEvent handle) {
  State* const s = State::current();
  auto* const event = reinterpret_cast<EventObject*>(handle);
  std::lock_guard lock(s->mutex);
  if (event->context->gpu->broken != kCuSuccess) return event->context->gpu->broken;
  if (event->capture != nullptr) return kCuCapturedEvent;
  const bool reached = event->ticket == nullptr || event->ticket->reached;
  // Asking for the same event again and again counts as one wait of the host.
  if (!reached && s->asked_for != handle) {
    s->note(Call::How::kCalled, nullptr, "host waits for event");
    s->asked_for = handle;
  }
  return reached ? kCuSuccess : kCuNotReady;
}

CuResult begin_capture(CuStream handle, int mode) {
  std::lock_guard lock(State::current()->mutex);
  auto* const stream = reinterpret_cast<Stream*>(handle);
  if (stream->capture != nullptr || mode < 0 || mode > 2) return kCuInvalidValue;
  stream->capture = std::make_shared<Capture>();
  stream->capture->origin = stream;
  return kCuSuccess;
}
CuResult end_capture(CuStream handle, CuGraph* out) {
  State* const s = State::current();
  std::lock_guard lock(s->mutex);
  auto* const stream = reinterpret_cast<Stream*>(handle);
  *out = nullptr;
  if (stream->capture == nullptr || stream->capture->origin != stream) return kCuInvalidValue;
  const std::shared_ptr<Capture> capture = std::exchange(stream->capture, nullptr);
  for (Stream* const other : capture->joined) other->capture = nullptr;
  if (capture->invalid) return kCuCaptureInvalidated;
  if (!capture->joined.empty()) return kCuCaptureUnjoined;
  auto* const graph = new Graph{std::move(capture->operations)};
  s->objects.insert(graph);
  *out = reinterpret_cast<CuGraph>(graph);
  return kCuSuccess;
}
CuResult graph_instantiate(CuGraphExec* out, CuGraph graph, unsigned long long) {
  State* const s = State::current();
  auto* const exec = new Graph(*reinterpret_cast<Graph*>(graph));
  std::lock_guard lock(s->mutex);
  ++s->counts.graphs_made;
  s->note(Call::How::kCalled, nullptr, "instantiate");
  s->objects.insert(exec);
  *out = reinterpret_cast<CuGraphExec>(exec);
  return kCuSuccess;
}
CuResult graph_update(CuGraphExec handle, CuGraph graph_handle, CuUpdateInfo* info) {
  State* const s = State::current();
  auto* const exec = reinterpret_cast<Graph*>(handle);
  const auto* const graph = reinterpret_cast<const Graph*>(graph_handle);
  std::lock_guard lock(s->mutex);
  bool same = exec->operations.size() == graph->operations.size();
  for (std::size_t i = 0; same && i < exec->operations.size(); ++i) {
    same = exec->operations[i].name == graph->operations[i].name;
  }
  *info = {};
  if (!same) return kCuGraphUpdateFailure;
  ++s->counts.graphs_updated;
  s->note(Call::How::kCalled, nullptr, "update");
  exec->operations = graph->operations;
  return kCuSuccess;
}
CuResult graph_launch(CuGraphExec handle, CuStream stream_handle) {
  if (const CuResult error = current_error(); error != kCuSuccess) return error;
  State* const s = State::current();
  auto* const stream = reinterpret_cast<Stream*>(stream_handle);
  std::lock_guard lock(s->mutex);
  if (stream->context->gpu->broken != kCuSuccess) return stream->context->gpu->broken;
  ++s->counts.graph_launches;
  s->note(Call::How::kCalled, stream, "launch");
  for (const Operation& operation : reinterpret_cast<Graph*>(handle)->operations) {
    s->note(stream, operation, Call::How::kReplayed);
    if (const CuResult result = s->enqueue(stream, operation); result != kCuSuccess) return result;
  }
  return kCuSuccess;
}
CuResult graph_nodes(CuGraph graph, CuGraphNode*, std::size_t* count) {
  *count = reinterpret_cast<Graph*>(graph)->operations.size();
  return kCuSuccess;
}
CuResult graph_destroy(CuGraph graph) {
  State* const s = State::current();
  std::lock_guard lock(s->mutex);
  s->objects.erase(graph);
  delete reinterpret_cast<Graph*>(graph);
  return kCuSuccess;
}
CuResult exec_destroy(CuGraphExec exec) { return graph_destroy(reinterpret_cast<CuGraph>(exec)); }

}  // namespace

void add_stream_calls(DriverCalls& calls) {
  calls.cuCtxGetStreamPriorityRange = priority_range;
  calls.cuStreamCreate = stream_create;
  calls.cuStreamCreateWithPriority = stream_create_with_priority;
  calls.cuStreamDestroy_v2 = stream_destroy;
  calls.cuStreamSynchronize = stream_synchronize;
  calls.cuStreamWaitEvent = stream_wait;
  calls.cuEventCreate = event_create;
  calls.cuEventDestroy_v2 = event_destroy;
  calls.cuEventRecord = event_record;
  calls.cuEventQuery = event_query;
  calls.cuStreamBeginCapture_v2 = begin_capture;
  calls.cuStreamEndCapture = end_capture;
  calls.cuGraphInstantiateWithFlags = graph_instantiate;
  calls.cuGraphExecUpdate_v2 = graph_update;
  calls.cuGraphLaunch = graph_launch;
  calls.cuGraphGetNodes = graph_nodes;
  calls.cuGraphExecDestroy = exec_destroy;
  calls.cuGraphDestroy = graph_destroy;
}

}  // namespace argosy::cuda::fake
