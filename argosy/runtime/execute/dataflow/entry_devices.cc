#include "argosy/runtime/execute/dataflow/entry_devices.h"

#include "argosy/runtime/execute/executor.h"

namespace argosy {

EntryDevices::EntryDevices(const Step& step, RunContext& context, EntryQueues& queues)
    : step_(step),
      context_(context),
      queues_(queues),
      devices_(static_cast<std::size_t>(step.device_set->size())),
      leaves_device_(step.instructions.size(), 0) {
  for (std::size_t i = 0; i < step.instructions.size(); ++i) {
    const Instruction& instruction = step.instructions[i];
    for (const DataflowGraph::Edge& e : step.dataflow.successors[i]) {
      const bool here = step.instructions[e.instruction].device == instruction.device;
      const bool on_host = e.output >= 0 && step.slots[instruction.first_output + e.output].space == 0;
      if (!here && !on_host) leaves_device_[i] = 1;
    }
  }
}

Status EntryDevices::copy(RunningEntry& running) {
  const Tensor& from = running.inputs[0];
  const Instruction& instruction = step_.instructions[running.entry.instruction];
  Device& device = step_.device_set->device(instruction.device);
  Allocator& where =
      step_.slots[instruction.first_output].space == 0 ? step_.device_set->device(0).allocator() : device.allocator();
  ARGOSY_ASSIGN_OR_RETURN(running.outputs[0], Tensor::allocate(from.dtype(), from.shape(), where));
  if (device.launch_queue() != nullptr) return copy_async(running, *device.launch_queue());
  device.copies().copy(running.outputs[0].buffer(), from.buffer().part(0, from.bytes()));
  return device.copies().synchronize();
}

// To the host: waits for the copy's end. To the device: orders the device's later work after the copy.
Status EntryDevices::copy_async(RunningEntry& running, LaunchQueue& queue) {
  const Instruction& instruction = step_.instructions[running.entry.instruction];
  const Tensor &from = running.inputs[0], &to = running.outputs[0];
  AsyncDevice& async = devices_[instruction.device];
  async.started = true;
  const Buffer source(from.buffer().owner(), from.raw(), from.bytes());
  if (step_.slots[instruction.first_output].space == 0) {
    ARGOSY_ASSIGN_OR_RETURN(const Event there, queue.copy_out(to.buffer(), source));
    ARGOSY_RETURN_IF_ERROR(queue.finish(&context_.cancellation()));
    if (there.state() != nullptr) there.state()->wait();
    return queue.failure();
  }
  ARGOSY_ASSIGN_OR_RETURN(const Event there, queue.copy_in(to.buffer(), source));
  ARGOSY_RETURN_IF_ERROR(queue.wait(there));
  std::erase_if(async.arriving, [](const auto& a) { return a.first.state() == nullptr || a.first.state()->reached(); });
  async.arriving.emplace_back(there, from);
  return ok_status();
}

void EntryDevices::finish() {
  for (std::size_t d = 1; d < devices_.size(); ++d) {
    Device& device = step_.device_set->device(static_cast<int>(d));
    if (!devices_[d].started || device.launch_queue() == nullptr) continue;
    Status status;
    device.compute().run([&] {
      status = device.launch_queue()->finish(&context_.cancellation());
      devices_[d].arriving.clear();
    });
    if (Status done = device.compute().synchronize(); status.ok()) status = std::move(done);
    if (status.ok()) continue;
    queues_.stop(device_error(context_, device, status));
  }
}

}  // namespace argosy
