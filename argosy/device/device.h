// The contract of a device backend: Device, Stream, Event. One folder per backend (cpu, emulated, null, cuda)
// implements it; nothing else knows which backend it talks to.
//
// A device owns a memory (its allocator, with a hard cap) and streams (each a queue of tasks run in order by a thread
// of its own). A step's plan for this device is driven on the compute stream; transfers ride the copy stream, so that
// they overlap; collectives ride the communication stream. Threads and memory exist only once used: a device nobody
// uses costs nothing, and destroying a device returns everything.
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

// All that planning reads about a device. A value type.
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

  // For people: "gpu:0", or "gpu:0 (the machine's GPU 2)" where the machine counts otherwise.
  std::string said_name() const;
  // As a request says it: "gpu:2" of --devices and --mem.
  std::string request_name() const;
  bool is_gpu() const { return name.type == "GPU"; }  // real or emulated
};

// A point in a stream's order. Cheap to copy.
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

// Tasks run in order; two streams are unordered until told. Thread-safe; no call but synchronize() blocks.
class Stream {
 public:
  virtual ~Stream() = default;
  virtual void run(Task task) = 0;  // Queues a task behind those before it. Any thread.
  // Copies from.bytes() bytes. The buffers may belong to different devices; both are kept alive until it is done.
  virtual void copy(const Buffer& to, const Buffer& from) = 0;
  virtual Event record() = 0;  // happens when all tasks so far are done
  // This stream waits for the event; the host does not.
  virtual void wait(const Event& event) = 0;
  // The host waits until everything queued so far is done; the first error of an earlier task surfaces here.
  virtual Status synchronize() = 0;
};

// Work of an asynchronous device (CUDA): kernels only enqueue it, it happens later, in the order in which it was
// started. Points of that order are events; an error of something started earlier surfaces at the next wait. All but
// finish() return at once. Called by the compute stream's thread alone, but for copy_from_host().
class LaunchQueue {
 public:
  virtual ~LaunchQueue() = default;
  // Reached when all that was started so far is done. The host may wait for it too (Event::State::wait()).
  virtual Result<Event> record() = 0;
  // What is started from here on comes after the event; the host waits only where it is of no device like this one.
  virtual Status wait(const Event& event) = 0;
  // From the host's memory, or another device's, into this one's: beside what is being computed, but after all that was
  // started so far, and after what `to` and `from` were allocated for. The event: it is done. Both buffers' memory must
  // stay until then.
  virtual Result<Event> copy_in(const Buffer& to, const Buffer& from) = 0;
  // From this device's memory to the host's, in order with what is started. The event: the host may read it.
  virtual Result<Event> copy_out(const Buffer& to, const Buffer& from) = 0;
  // What has gone wrong for good, as far as is known by now.
  virtual Status failure() const = 0;
  // The host waits for all that was started; the first error of any of it, with what is known of its cause. Ends early,
  // with the cancellation's status, where that comes first and the device does not finish within a grace period.
  virtual Status finish(Cancellation* cancellation = nullptr) = 0;
};

// Called around every kernel of a device that has one: faults, speed factors and virtual clocks live here, so that
// devices without them pay one null test.
class KernelObserver {
 public:
  virtual ~KernelObserver() = default;
  // An error fails the node instead of running it (device lost, injected fault). May block (a kernel that never
  // completes) until `cancellation`, if given, or the end of the device says stop.
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
  virtual KernelObserver* observer() { return nullptr; }  // null: nobody wants to know
  // Which kernels run here: the key of the kernel registry. Emulated GPUs run the CPU's kernels.
  virtual std::string_view kernel_kind() const { return "cpu"; }
  // The kernels of that kind, where they do not come with the library.
  virtual void add_kernels(KernelRegistry&) const {}
  // Null on a synchronous device: a kernel's work is done when its run() returns. Host code must not touch the memory of other devices.
  virtual LaunchQueue* launch_queue() { return nullptr; }
  // The device itself, where this is another look at one (argosy/runtime/machine/device_set_view.h).
  virtual Device& physical() { return *this; }
  // Waits for all streams.
  virtual Status synchronize() = 0;
};

// What a session asks for; every field may be left out.
struct DeviceRequest {
  std::string devices;  // "gpu:0,gpu:1", "cpu:0", a count, "auto" or "": every GPU there is, else the CPU
  std::string emulate;  // "2", or "gpu:11GiB@1.0,gpu:11GiB@0.5;link=12GB/s"; "" = $ARGOSY_EMULATE, else none
  std::string memory;   // "gpu:0=4GiB,gpu:1=50%": caps by device
  int cpu_devices = 1;  // logical CPU devices, sharing the cores
  int cpu_threads = 0;  // thread budget of all CPU devices together; 0 = every core
  std::string faults;   // "gpu:1:alloc=17", "gpu:0:lost=100"; "" = $ARGOSY_FAULTS, else none
  // Real GPUs: several logical devices on each, "2" or "0:2,1:4" (GPU: how many); "" = $ARGOSY_VIRTUAL_GPUS, else one.
  std::string virtual_gpus;
  bool tf32 = false;           // real GPUs: float32 products with TensorFloat-32 (10 bits of mantissa)
  bool deterministic = false;  // real GPUs: kernels whose bits do not depend on timing
  // Where real GPUs come from; null = the CUDA plug-in, where it is (argosy/device/plugin.h).
  std::shared_ptr<GpuBackend> gpus;
};

// The devices of a session: its logical CPUs, CPU:0 always first (it feeds, fetches and holds what only a CPU can),
// then the GPUs asked for. /gpu:0 is the first GPU of *this* session, whatever its number on the machine: `devices =
// "gpu:1"` makes the machine's second GPU the session's GPU:0, and says so in its description. The text of a request
// (devices, memory, faults) speaks of the machine's numbers. Errors: NOT_FOUND naming what is there and, for a missing
// GPU, --emulate; INVALID_ARGUMENT for text that does not parse.
Result<std::vector<std::unique_ptr<Device>>> make_devices(const DeviceRequest& request);

// What make_devices("") would offer, without taking a byte or a thread. GPUs carry the machine's numbers.
Result<std::vector<DeviceSpec>> list_devices(const DeviceRequest& request);

// The devices that `request.devices` names, by the session's names and in the order asked: those to compute on. Unlike
// make_devices it leaves out a CPU:0 that is there only to feed and fetch.
Result<std::vector<DeviceSpec>> chosen_devices(const DeviceRequest& request);

}  // namespace argosy
