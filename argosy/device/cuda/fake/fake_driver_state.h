// The state behind FakeDriver, and the objects behind the handles of the fake driver. Internal to this folder.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "argosy/device/cuda/fake/fake_driver.h"
#include "argosy/device/cuda/fake/watch.h"

namespace argosy::cuda::fake {

struct Stream;
struct GpuState;

// A point in the order of a stream.
struct Ticket {
  bool reached = false;
};

struct Operation {
  std::string name;               // "kernel relu", "copy", ...
  std::function<CuResult()> run;  // on the stream's thread; null: only the ticket
  std::shared_ptr<Ticket> reaches;
  std::shared_ptr<Ticket> waits;
  bool touches_memory = false;
  std::uint64_t bytes = 0, blocks = 0;  // as in Call
};

struct Context {
  GpuState* gpu = nullptr;
};

// One capture: the stream that began it, and the streams that joined it by its events.
struct Capture {
  Stream* origin = nullptr;
  std::set<Stream*> joined;  // they must join back before the capture ends; ours never do
  std::vector<Operation> operations;
  bool invalid = false;
};

struct Stream {
  Context* context = nullptr;
  int number = 0;
  std::thread thread;
  std::deque<Operation> queue;  // the state's mutex
  bool busy = false, closing = false;
  int priority = 0;
  std::shared_ptr<Capture> capture;  // under way
};

struct EventObject {
  Context* context = nullptr;
  std::shared_ptr<Ticket> ticket;    // of the last record
  std::shared_ptr<Capture> capture;  // the capture that recorded it
};

struct Allocation {
  std::size_t bytes = 0;
  struct Pool* pool = nullptr;
  bool ready = false;  // its place in the stream is reached
};

struct FreeBlock {
  std::size_t bytes = 0;
  Stream* stream = nullptr;  // in whose order it was freed
  bool done = false;         // that place is reached
};

// A free whose place in its stream is not reached yet.
struct Freeing {
  std::size_t bytes = 0;
  Stream* stream = nullptr;
  std::shared_ptr<Ticket> ticket;
};

struct Pool {
  GpuState* gpu = nullptr;
  std::map<CuPointer, FreeBlock> kept;  // freed, still the pool's
  bool reuse_waits = true;              // as the driver's own default
  std::vector<Freeing> freeing;
  std::uint64_t in_use = 0, reserved = 0;
};

struct Module {
  void* library = nullptr;
  const Context* context = nullptr;
};
struct Function {
  std::string name;
  const on_host::Kernel* kernel = nullptr;
  const Context* context = nullptr;  // that its module is loaded in
  unsigned shared_bytes = 48 << 10;  // dynamic ones it may have, until it asks for more
};
struct Graph {
  std::vector<Operation> operations;
};

struct GpuState {
  int ordinal = 0;
  FakeGpu facts;
  Context context;
  int holds = 0;
  std::byte* memory = nullptr;  // the address space of the GPU, which is larger than its memory
  std::size_t address_bytes = 0;
  std::map<CuPointer, std::size_t> holes;       // of that space
  std::map<CuPointer, Allocation> allocations;  // from the call on, until the free is reached
  std::uint64_t reserved = 0;
  std::set<const GpuState*> open_to;          // GPUs whose kernels may reach its memory
  int touching = 0;                           // operations at work in its memory
  std::atomic<CuResult> broken = kCuSuccess;  // set under the mutex, asked by every call
};

class FakeDriver::State {
 public:
  explicit State(Options options);
  ~State();

  // The only instance, or null.
  static State* current();

  GpuState* gpu_at(CuPointer pointer);
  // Enqueues the operation on the stream, or adds it to the stream's capture. REQUIRES: mutex held.
  CuResult push(Stream* stream, Operation operation);
  // An operation that a capture does not allow: marks the capture as lost and returns `why`. REQUIRES: mutex held.
  static CuResult invalidate(Stream* stream, CuResult why);
  CuResult enqueue(Stream* stream, Operation operation);
  CuResult wait_until_idle(std::unique_lock<std::mutex>& lock, Stream* stream);
  void serve(Stream* stream);
  // REQUIRES: mutex held.
  void note(Call::How how, const Stream* stream, std::string what, std::uint64_t bytes = 0, std::uint64_t blocks = 0);
  void note(const Stream* stream, const Operation& operation, Call::How how = Call::How::kCalled) {
    note(how, stream, operation.name, operation.bytes, operation.blocks);
  }
  void violation(std::string what);
  // Checks that every byte belongs to one allocation, at its place in the stream. REQUIRES: mutex held.
  bool check_memory(const char* what, CuPointer pointer, std::size_t bytes);
  // The memory that a kernel on the GPU may access: its allocations, those of GPUs open to it, pinned blocks. REQUIRES:
  // mutex held.
  std::vector<on_host::Range> reachable(const GpuState* gpu) const;
  void touch(GpuState* gpu, bool begin);  // REQUIRES: mutex held
  // touch() for every GPU that is open to it. Returns those GPUs, for the end of the access. REQUIRES: mutex held.
  std::vector<GpuState*> touch_peers(const GpuState* gpu) {
    std::vector<GpuState*> touched;
    for (const auto& other : gpus) {
      if (!other->open_to.contains(gpu)) continue;
      touch(other.get(), true);
      touched.push_back(other.get());
    }
    return touched;
  }

  FakeDriver* owner = nullptr;
  const Options options;
  DriverCalls calls;
  DriverCalls counted;  // the same, each call counted
  std::map<std::string, std::atomic<std::int64_t>> calls_made;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::unique_ptr<GpuState>> gpus;
  std::map<void*, std::size_t> pinned;
  std::set<const void*> objects;
  std::set<Stream*> streams;
  Counts counts;
  std::vector<std::string> violations;
  std::vector<std::string> kernels;
  std::set<std::string> launched;        // the same, each once
  std::uint64_t order = 0, ordered = 0;  // Ways::order, and launches in an order of their own so far
  std::vector<Call> calls_kept;
  bool keeps_calls = false;
  std::FILE* log = nullptr;
  int streams_made = 0;
  CuEvent asked_for = nullptr;  // by the last call, and it was not reached
  std::int64_t fail_allocation_in = 0, fail_launch_in = 0, hang_launch_in = 0;
  CuResult launch_failure = kCuSuccess;
  bool hang_ended = false;
  bool started = false;
};

// Each fills in its part of the table.
void add_memory_calls(DriverCalls& calls);
void add_stream_calls(DriverCalls& calls);
void add_module_calls(DriverCalls& calls);

// The context that is current on the calling thread.
Context*& current_context();

// The node whose kernel runs on the calling thread; "": unknown.
std::string& current_node();

// The error that broke the GPU of the current context, or success.
CuResult current_error();

}  // namespace argosy::cuda::fake
