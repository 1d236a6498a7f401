// The contract of a device backend: Device, Stream, Event. One folder per backend (cpu, emulated, null, cuda)
// implements it. No other code knows which backend it uses.
//
// A device owns a memory and three streams. The memory is an allocator with a hard cap. A stream is a queue of tasks
// that one thread runs in order:
//   compute        the device's part of a step
//   copies         transfers, which overlap with the compute stream
//   communication  collectives
// Threads and memory exist only once they are used. An unused device costs nothing; destroying a device returns all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "argosy/base/status.h"
#include "argosy/base/threads/cancellation.h"
#include "argosy/device/name.h"
#include "argosy/tensor/buffer.h"

namespace argosy {

class GpuBackend;      // argosy/device/gpu_backend.h
class KernelRegistry;  // argosy/op/kernel/kernel.h

enum class DeviceKind { kCpu, kEmulated, kCuda, kNull };
std::string_view device_kind_name(DeviceKind kind);  // "cpu", "emulated", "cuda", "null"

// What planning needs to know about a device. A value type.
struct DeviceSpec {
  DeviceName name;                       // full
  DeviceKind kind = DeviceKind::kCpu;    // decides which kernels run here
  std::string description;               // "emulated GPU, 1 core, 11.0 GiB, speed 0.5"
  std::uint64_t memory_limit_bytes = 0;  // hard cap of the allocator; 0 = what the host has
  int cores = 1;                         // thread budget of its kernels
  int physical_gpu = -1;                 // cuda: which physical GPU it is on, GpuFacts::number
  double speed = 1.0;                    // emulated: 0.5 takes twice as long for every kernel
  double link_bytes_per_second = 0;      // emulated: host link; 0 = as fast as memory
  double flops_per_second = 0;           // null device and planning; 0 = not known
  double memory_bytes_per_second = 0;    // likewise
  int number = -1;                       // GPU: by which a request names it ("gpu:2"); -1 = as `name` says
  int system_number = -1;                // cuda: nvidia-smi's; -1 = not known
  std::uint64_t incarnation = 0;         // random, drawn when the device was made; 0 = it was only listed

  // For messages: "gpu:0", or "gpu:0 (the machine's GPU 2)" where the two numbers differ.
  std::string said_name() const;
  // The name in --devices and --mem: "gpu:2".
  std::string request_name() const;
  bool is_gpu() const { return name.type == "GPU"; }  // real or emulated
};

// A point in the order of a stream. Cheap to copy.
class Event {
 public:
  Event() = default;  // already reached
  class State;        // argosy/device/event.h
  explicit Event(std::shared_ptr<State> state) : state_(std::move(state)) {}
  const std::shared_ptr<State>& state() const { return state_; }  // shared by copies; null: an event that has happened

 private:
  std::shared_ptr<State> state_;
};

using Task = std::function<void()>;  // what a stream runs

// Runs tasks in order. Two streams have no common order except through events. Thread-safe; only synchronize() blocks.
class Stream {
 public:
  virtual ~Stream() = default;
  virtual void run(Task task) = 0;  // Queues a task behind those before it. Any thread.
  // Copies from.bytes() bytes. The buffers may belong to different devices. The stream keeps both alive until the copy
  // ends.
  virtual void copy(const Buffer& to, const Buffer& from) = 0;
  virtual Event record() = 0;  // happens when all tasks so far are done
  // This stream waits for the event; the host does not.
  virtual void wait(const Event& event) = 0;
  // The host waits until all queued tasks have ended. Returns the first error of any earlier task.
  virtual Status synchronize() = 0;
};

// The work queue of an asynchronous device (CUDA). A kernel only enqueues its work; the device runs it later, in the
// order in which it was enqueued. Events are points of that order. The next wait returns an error of earlier work. Only
// finish() blocks. Thread: the compute stream's alone, except copy_in(), which any thread may call.
class LaunchQueue {
 public:
  virtual ~LaunchQueue() = default;
  // The event is reached when all work enqueued so far is done. The host may wait for it too (Event::State::wait()).
  virtual Result<Event> record() = 0;
  // Later work runs after the event. The host waits only for an event that belongs to no device of this kind.
  virtual Status wait(const Event& event) = 0;
  // Copies from the host's memory, or another device's, into this device's memory, overlapping with its kernels. The
  // copy starts after all work enqueued so far and after the allocations of `to` and `from`. The returned event is
  // reached when it is done. Both buffers must live until then.
  virtual Result<Event> copy_in(const Buffer& to, const Buffer& from) = 0;
  // Copies from this device's memory to the host's, in order with the enqueued work. The host may read `to` once the
  // event is reached.
  virtual Result<Event> copy_out(const Buffer& to, const Buffer& from) = 0;
  // The permanent error of the device, as far as it is known; else OK. Does not wait.
  virtual Status failure() const = 0;
  // The host waits for all enqueued work. Returns its first error, with the cause as far as it is known. Returns the
  // status of `cancellation` early when that comes first and the device does not finish within a grace period.
  virtual Status finish(Cancellation* cancellation = nullptr) = 0;
};

// Called before and after every kernel of a device that has an observer. Faults, speed factors and virtual clocks are
// observers; other devices pay one null test. Thread-safe.
class KernelObserver {
 public:
  virtual ~KernelObserver() = default;
  // An error fails the node; its kernel does not run (device lost, injected fault). May block, as a kernel that never
  // ends, until `cancellation` (may be null) or the end of the device.
  virtual Status before(std::string_view node, Cancellation* cancellation = nullptr) = 0;
  // Called after a node; may sleep, to be slower.
  virtual void after(std::string_view node, std::int64_t elapsed_nanos) = 0;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceSpec& spec() const = 0;  // what it is
  virtual Allocator& allocator() = 0;          // of its memory
  virtual Stream& compute() = 0;        // its thread has the device's thread budget (argosy/base/threads/parallel.h)
  virtual Stream& copies() = 0;         // for transfers
  virtual Stream& communication() = 0;  // for collectives
  virtual KernelObserver* observer() { return nullptr; }  // null: the device has none
  // The key of the kernel registry: which kernels run here. Emulated GPUs run the CPU's kernels.
  virtual std::string_view kernel_kind() const { return "cpu"; }
  // Adds the kernels of kernel_kind() that the library itself does not contain.
  virtual void add_kernels(KernelRegistry&) const {}
  // Null on a synchronous device, where a kernel's work is done when its run() returns. Host code must not touch the
  // memory of an asynchronous device.
  virtual LaunchQueue* launch_queue() { return nullptr; }
  // The device itself. A view of a device (argosy/runtime/device_set/device_set_view.h) returns the device behind it.
  virtual Device& physical() { return *this; }
  // Waits for all streams.
  virtual Status synchronize() = 0;
};

// The devices that a session requests. Every field is optional.
struct DeviceRequest {
  std::string devices;  // "gpu:0,gpu:1", "cpu:0", a count, "auto" or "": every GPU there is, else the CPU
  std::string emulate;  // "2", or "gpu:11GiB@1.0,gpu:11GiB@0.5;link=12GB/s"; "" = $ARGOSY_EMULATE, else none
  std::string memory;   // "gpu:0=4GiB,gpu:1=50%": caps by device
  int cpu_devices = 1;  // logical CPU devices, sharing the cores
  int cpu_threads = 0;  // thread budget of all CPU devices together; 0 = every core
  std::string faults;   // "gpu:1:alloc=17", "gpu:0:lost=100"; "" = $ARGOSY_FAULTS, else none
  // Real GPUs: logical devices on each, "2" or by GPU "0:2,1:4". "" = $ARGOSY_VIRTUAL_GPUS, else one.
  std::string virtual_gpus;
  bool tf32 = false;           // real GPUs: float32 products with TensorFloat-32 (10 bits of mantissa)
  bool deterministic = false;  // real GPUs: kernels whose bits do not depend on timing
  // The source of real GPUs. Null = the CUDA plug-in, if there is one (argosy/device/plugin.h).
  std::shared_ptr<GpuBackend> gpus;
  // Job, replica and task in the devices' names: those of this process in its cluster.
  DeviceName task = {"localhost", 0, 0, "", std::nullopt};
};

// The devices of a session: its logical CPUs, then the requested GPUs. CPU:0 is always first: it feeds, fetches and
// holds values that only a CPU can hold.
//
// /gpu:0 is the first GPU of *this session*, whatever its number on the machine. With devices = "gpu:1" the machine's
// second GPU becomes the session's GPU:0, and its description says so. The fields of a request (devices, memory,
// faults) use the machine's numbers.
//
// Errors: NOT_FOUND lists the devices there are and, for a missing GPU, suggests --emulate. INVALID_ARGUMENT: the text
// does not parse.
Result<std::vector<std::unique_ptr<Device>>> make_devices(const DeviceRequest& request);

// The devices that make_devices("") would offer. Takes no memory and no thread. GPUs carry the machine's numbers.
Result<std::vector<DeviceSpec>> list_devices(const DeviceRequest& request);

// The devices to compute on: those that `request.devices` names, in that order, under the session's names. Unlike
// make_devices() it omits a CPU:0 that only feeds and fetches.
Result<std::vector<DeviceSpec>> chosen_devices(const DeviceRequest& request);

}  // namespace argosy
