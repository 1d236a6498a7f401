#include "argosy/comm/native_gpu/rank_streams.h"

#include "argosy/device/cuda/cuda_launch_queue.h"

namespace argosy::cuda {

RankStreams::RankStreams(std::span<CudaDevice* const> devices) {
  for (CudaDevice* const device : devices) cores_.push_back(core_of(*device));
}

Status RankStreams::open() {
  for (int r = 0; r < size(); ++r) {
    ARGOSY_RETURN_IF_ERROR(enter(r));
    ARGOSY_RETURN_IF_ERROR(core(r).communication().status());
  }
  return {};
}

Status RankStreams::wait_for(const Event& event, int rank) {
  if (event.state() == nullptr) return {};
  const auto* const on_gpu = dynamic_cast<const CudaEvent*>(event.state().get());
  if (on_gpu == nullptr) {
    event.state()->wait();
    return {};
  }
  ARGOSY_RETURN_IF_ERROR(enter(rank));
  return core(rank).check(core(rank).driver()->cuStreamWaitEvent(stream(rank), on_gpu->event(), 0),
                          "cuStreamWaitEvent");
}

Status RankStreams::wait_for(std::span<const Event> events) {
  for (const Event& event : events) {
    for (int r = 0; r < size(); ++r) ARGOSY_RETURN_IF_ERROR(wait_for(event, r));
  }
  return {};
}

Status RankStreams::wait_for(std::span<const CollectiveCall> calls) {
  for (const CollectiveCall& call : calls) ARGOSY_RETURN_IF_ERROR(wait_for(std::span(&call.ready, 1)));
  return {};
}

Status RankStreams::order(int earlier, int later) {
  ARGOSY_RETURN_IF_ERROR(enter(earlier));
  ARGOSY_ASSIGN_OR_RETURN(const CuEvent event, core(earlier).record(stream(earlier)));
  Status status = enter(later);
  if (status.ok()) {
    // A wait is for what the event stood for at this call: it may be recorded anew at once.
    status = core(later).check(core(later).driver()->cuStreamWaitEvent(stream(later), event, 0), "cuStreamWaitEvent");
  }
  core(earlier).return_event(event);
  return status;
}

Result<Event> RankStreams::mark(int rank) {
  ARGOSY_RETURN_IF_ERROR(enter(rank));
  ARGOSY_ASSIGN_OR_RETURN(const CuEvent event, core(rank).record(stream(rank)));
  return Event(std::make_shared<CudaEvent>(shared_core(rank), event));
}

Result<std::vector<Event>> RankStreams::join() {
  std::vector<Event> ends;
  for (int r = 0; r < size(); ++r) {
    ARGOSY_ASSIGN_OR_RETURN(ends.emplace_back(), mark(r));
  }
  ARGOSY_RETURN_IF_ERROR(wait_for(ends));
  for (int r = 0; r < size(); ++r) {
    ARGOSY_ASSIGN_OR_RETURN(ends[static_cast<std::size_t>(r)], mark(r));
  }
  return ends;
}

namespace {

template <typename Copy>
Status bring(CudaDevice& device, const Event& ready, const Copy& copy) {
  CudaDevice* const devices[] = {&device};
  RankStreams streams(devices);
  ARGOSY_RETURN_IF_ERROR(streams.open());
  ARGOSY_RETURN_IF_ERROR(streams.wait_for(std::span(&ready, 1)));
  DeviceCore& core = streams.core(0);
  ARGOSY_RETURN_IF_ERROR(core.open());
  ARGOSY_RETURN_IF_ERROR(core.check(copy(*core.driver().operator->(), streams.stream(0)), "a copy"));
  return core.check(core.driver()->cuStreamSynchronize(streams.stream(0)), "cuStreamSynchronize");
}

}  // namespace

Status bring_to_host(CudaDevice& device, void* to, const void* from, std::size_t bytes, const Event& ready) {
  if (bytes == 0) return {};
  return bring(device, ready, [&](const DriverCalls& cu, CuStream stream) {
    return cu.cuMemcpyDtoHAsync_v2(to, reinterpret_cast<CuPointer>(from), bytes, stream);
  });
}

Status bring_to_gpu(CudaDevice& device, void* to, const void* from, std::size_t bytes, const Event& ready) {
  if (bytes == 0) return {};
  return bring(device, ready, [&](const DriverCalls& cu, CuStream stream) {
    return cu.cuMemcpyHtoDAsync_v2(reinterpret_cast<CuPointer>(to), from, bytes, stream);
  });
}

}  // namespace argosy::cuda
