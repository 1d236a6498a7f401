// FakeDriver: NVIDIA's driver interface (driver_api.h) with GPUs in host memory, for tests. It makes errors visible:
// * Streams are threads, so a missing wait gives wrong results.
// * Fresh and freed memory is full of NaN.
// * A copy or kernel that uses memory before its allocation's place in the stream, after its free, or beyond its end,
//   is a violation. Memory between allocations belongs to none, and the address sanitizer knows it.
// * Host code that reads a GPU's memory dies, as on a machine with GPUs: the memory is protected while no stream works
//   on it.
//
// Its kernels are compiled for the host (on_host.h). One at a time in a process, because the driver's functions have no
// argument that could tell two apart. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "argosy/device/cuda/driver/driver.h"
#include "argosy/device/device.h"

namespace argosy::cuda::fake {

struct FakeGpu {
  std::string name = "Fake GPU";
  std::uint64_t memory_bytes = std::uint64_t{256} << 20;
  int major = 9, minor = 0;
  int multiprocessors = 4;
  std::string pci = "";  // empty: 0000:01:00.0, 0000:02:00.0, ...
};

// See Options::ways.
struct Ways {
  bool watch = false;
  std::uint64_t order = 0;
  unsigned blocks = 0;  // 0: as many as requested
  std::string launched;
};
Ways ways_of_environment();

struct Options {
  std::vector<FakeGpu> gpus = {FakeGpu{}};
  int version = 13000;
  CuResult init = kCuSuccess;  // the result of cuInit
  bool pools = true;
  CuResult contexts = kCuSuccess;  // the result of cuDevicePrimaryCtxRetain
  bool peers_reach = true;         // GPUs access each other's memory ...
  bool peers_lie = false;          // ... but the data arrive damaged
  std::size_t lies_from = 0;       // ... in copies of at least so many bytes
  bool peers_hang = false;         // copies between GPUs do not end before end_hang()
  bool host_lies = false;          // large copies from the host arrive damaged
  bool protect_memory = true;      // from host code
  // How kernels run. The default is the environment's ARGOSY_FAKE_KERNELS="watch order=3 blocks=2 launched=FILE", each
  // word optional:
  // * watch: checks every memory access of a kernel (watch.h). An access that a GPU might not allow is a violation.
  //   REQUIRES: the modules' images are shared objects with a twin NAME_watched.so.
  // * order: runs blocks and threads in an order from this seed, a different one in every launch.
  // * blocks: caps a grid along x, so that loops over a grid repeat. Each of our kernels has one (launch.h).
  // * launched: appends the name of each kernel that ran to this file, one a line. Takes the rest of the text.
  Ways ways = ways_of_environment();
  bool run_kernels = true;  // else kernels compute nothing and every name exists: for tests that count launches
  std::string log = "";     // a file that receives every call from now on, one a line (Call::text())
};

// One call, or one operation of a launched graph.
struct Call {
  enum class How { kCalled, kCaptured, kReplayed };  // in order; into a graph; by a graph's launch
  How how = How::kCalled;
  std::string what;  // "kernel gemm_f", "copy in", "fill", "record", "wait", "host waits", "allocate", "launch" ...
  std::string node = "";  // whose kernel runs on the calling thread, if the backend reports it (FakeDriver::observer())
  int stream = -1;        // the n-th that was made; -1: of none
  std::uint64_t bytes = 0;   // of copies, fills, allocations
  std::uint64_t blocks = 0;  // of kernels
  std::string text() const;  // separated by tabs, in the order of the fields
};

// Numbers of calls so far.
struct Counts {
  std::int64_t launches = 0;      // kernels that ran, replayed ones too
  std::int64_t launch_calls = 0;  // cuLaunchKernel outside of captures
  std::int64_t graph_launches = 0;
  std::int64_t graphs_made = 0, graphs_updated = 0;
  std::int64_t direct_copies = 0;  // cuMemcpyPeerAsync
  std::int64_t host_waits = 0;     // cuStreamSynchronize
  std::int64_t allocations = 0;
};

class FakeDriver {
 public:
  explicit FakeDriver(Options options = {});
  // REQUIRES: everything was given back, except after lose().
  ~FakeDriver();
  FakeDriver(const FakeDriver&) = delete;
  FakeDriver& operator=(const FakeDriver&) = delete;

  const DriverCalls& calls() const;
  std::shared_ptr<const Driver> driver() const;  // REQUIRES: the options let it start

  // --- faults --------------------------------------------------------------------------------------------------------

  // Later kernels run in an order from this seed (Ways::order).
  void set_order(std::uint64_t seed);
  // The nth allocation from now (1 = the next) runs out of memory. The nth kernel from now breaks its GPU with `code`,
  // or does not end before end_hang().
  void fail_allocation(std::int64_t nth);
  void fail_launch(std::int64_t nth, CuResult code = kCuLaunchFailed);
  void hang_launch(std::int64_t nth);
  void end_hang();
  void lose(int gpu, CuResult code = kCuEccUncorrectable);

  // --- libraries of the vendor, as fakes (argosy/comm/nccl/fake) ----------------------------------------------------

  // Enqueues `run` on the stream. While it runs, the memory of all GPUs may be accessed.
  void enqueue(CuStream stream, std::string name, std::function<CuResult()> run);
  // Kernels on these streams access the memory of each other's GPUs, as NCCL's kernels do in one process. A violation
  // where the pool of that memory is not open to them.
  void follow_pointers(std::span<const CuStream> streams, const char* what);
  // The only instance, or null.
  static FakeDriver* current();

  // For CudaBackend::Options: gives calls the names of nodes. Graphs are then not captured.
  static KernelObserver* observer();

  // --- what happened -------------------------------------------------------------------------------------------------

  Counts counts() const;
  // Returns the calls kept so far, and keeps calls from here on.
  std::vector<Call> take_calls();
  int priority(CuStream stream) const;                     // the smaller, the sooner
  std::map<std::string, std::int64_t> calls_made() const;  // of the driver's functions, by name
  int contexts(int gpu) const;                             // how often its context is held
  std::uint64_t bytes_in_use(int gpu) const;               // allocated and not freed
  std::uint64_t bytes_reserved(int gpu) const;             // what pools hold of the GPU
  std::vector<std::string> violations() const;             // empty in a correct program
  std::vector<std::string> kernels() const;                // names, in the order in which they ended
  std::size_t different_kernels() const;                   // how many of those names are different
  std::int64_t live_objects() const;                       // streams, events, pools, modules, graphs, pinned blocks

  class State;  // fake_driver_state.h

 private:
  std::unique_ptr<State> state_;
};

}  // namespace argosy::cuda::fake
