#include "argosy/device/cuda/cuda_launch_queue.h"

#include "argosy/device/copy.h"

namespace argosy::cuda {

namespace {

// Short copies stay on the compute stream: two streams that wait for each other would cost more. Not measured on a GPU.
constexpr std::size_t kMostInOrder = std::size_t{1} << 20;

}  // namespace

Result<Event> CudaLaunchQueue::reached_on(CuStream stream) {
  ARGOSY_ASSIGN_OR_RETURN(const CuEvent event, core_->record(stream));
  return Event(std::make_shared<CudaEvent>(core_, event, stream));
}

Result<Event> CudaLaunchQueue::record() {
  ARGOSY_RETURN_IF_ERROR(core_->open());
  return reached_on(core_->compute());
}

Status CudaLaunchQueue::wait(const Event& event) {
  if (event.state() == nullptr) return {};
  const auto* const ours = dynamic_cast<const CudaEvent*>(event.state().get());
  if (ours == nullptr) {
    event.state()->wait();
    return {};
  }
  {
    MutexLock lock(mutex_);
    if (event.state() == unwaited_.state()) unwaited_ = Event();
  }
  if (&ours->core() == core_.get() && (ours->stream() == core_->compute() || ours->reached())) return {};
  ARGOSY_RETURN_IF_ERROR(core_->open());
  return core_->check(core_->driver()->cuStreamWaitEvent(core_->compute(), ours->event(), 0), "cuStreamWaitEvent");
}

Status CudaLaunchQueue::after_compute() {
  ARGOSY_ASSIGN_OR_RETURN(const CuEvent event, core_->record(core_->compute()));
  const CuResult result = core_->driver()->cuStreamWaitEvent(core_->copies(), event, 0);
  core_->return_event(event);
  return core_->check(result, "cuStreamWaitEvent");
}

Result<Event> CudaLaunchQueue::copy_in(const Buffer& to, const Buffer& from) {
  ARGOSY_RETURN_IF_ERROR(core_->open());
  if (from.bytes() == 0) return Event();
  if (from.bytes() <= kMostInOrder && !core_->memory().capturing() && host_copies_.gpu_of(from.data()) < 0) {
    ARGOSY_RETURN_IF_ERROR(host_copies_.copy_in(to.data(), from.data(), from.bytes(), core_->compute()));
    return record();
  }
  ARGOSY_RETURN_IF_ERROR(after_compute());
  ARGOSY_RETURN_IF_ERROR(host_copies_.copy_in(to.data(), from.data(), from.bytes(), core_->copies()));
  ARGOSY_ASSIGN_OR_RETURN(Event there, reached_on(core_->copies()));
  MutexLock lock(mutex_);
  unwaited_ = there;
  return there;
}

Status CudaLaunchQueue::upload(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return {};
  ARGOSY_RETURN_IF_ERROR(core_->open());
  // Another thread captures: this copy stays out of its graph.
  if (core_->memory().capturing() && !core_->memory().capturing_here()) return copy_now(to, from, bytes);
  return host_copies_.copy_in(to, from, bytes, core_->compute());
}

Result<Event> CudaLaunchQueue::copy_out(const Buffer& to, const Buffer& from) {
  ARGOSY_RETURN_IF_ERROR(core_->open());
  if (from.bytes() == 0) return Event();
  return host_copies_.copy_out(to, from);
}

Status CudaLaunchQueue::finish(Cancellation* cancellation) {
  if (!core_->opened()) return core_->broken();
  ARGOSY_RETURN_IF_ERROR(core_->open());
  // Other devices use this device's memory on the communication stream. A copy_in() that no kernel waited for (the step
  // failed before) must end too, because its memory will be reused.
  CuStream copies = nullptr;
  {
    MutexLock lock(mutex_);
    if (std::exchange(unwaited_, Event()).state() != nullptr) copies = core_->copies();
  }
  for (const CuStream stream : {core_->compute(), copies, core_->used_communication()}) {
    if (stream == nullptr) continue;
    ARGOSY_ASSIGN_OR_RETURN(const CuEvent event, core_->record(stream));
    Status status = core_->wait_on_host(event, cancellation);
    core_->return_event(event);
    if (!status.ok()) return status;
  }
  return core_->broken();
}

Status CudaLaunchQueue::copy_now(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return {};
  ARGOSY_RETURN_IF_ERROR(core_->open());
  ARGOSY_RETURN_IF_ERROR(after_compute());
  const CuDevice target = host_copies_.gpu_of(to), source = host_copies_.gpu_of(from);
  if (target < 0 && source < 0) {
    copy_memory(to, from, bytes);
    return {};
  }
  if (target < 0) {
    ARGOSY_RETURN_IF_ERROR(host_copies_.copy_out_now(to, from, bytes, core_->copies()));
  } else {
    ARGOSY_RETURN_IF_ERROR(host_copies_.copy_in(to, from, bytes, core_->copies()));
  }
  return core_->check(core_->driver()->cuStreamSynchronize(core_->copies()), "cuStreamSynchronize");
}

}  // namespace argosy::cuda
