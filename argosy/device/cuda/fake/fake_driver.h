// GPUs that are not there: NVIDIA's driver interface (driver_api.h) in host memory, for tests. Streams are threads, so
// a wait that is missing gives wrong results; memory that is fresh or freed is full of NaN; a copy or a kernel that is
// given memory before its allocation's place in the stream, after its free, or beyond its end, is a violation (what
// lies between allocations belongs to none, and the address sanitizer knows them); and between the work of its streams
// a GPU's memory may not be touched at all, so that host code which reads it dies as it would on a machine with GPUs.
// Kernels are those compiled for the host (on_host.h).
//
// One at a time in a process (the driver's functions have no argument that could tell two apart). Thread-safe.
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
  unsigned blocks = 0;  // 0: as many as are asked for
  std::string launched;
};
Ways ways_of_environment();

struct Options {
  std::vector<FakeGpu> gpus = {FakeGpu{}};
  int version = 13000;
  CuResult init = kCuSuccess;  // what cuInit says
  bool pools = true;
  CuResult contexts = kCuSuccess;  // what cuDevicePrimaryCtxRetain says
  bool peers_reach = true;         // GPUs access each other's memory ...
  bool peers_lie = false;          // ... but what arrives is not what was sent
  std::size_t lies_from = 0;       // ... in copies of at least so many bytes
  bool peers_hang = false;         // copies between GPUs do not end before end_hang()
  bool host_lies = false;          // of large copies from the host something else arrives
  bool protect_memory = true;      // from host code
  // How kernels run; by default as the environment says, ARGOSY_FAKE_KERNELS="watch order=3 blocks=2 launched=FILE", each
  // word if wanted. watch: with an eye on every access to memory (watch.h); what a GPU might not forgive is a
  // violation, and modules' images must be objects that have a twin NAME_watched.so. order: blocks and threads in an
  // order from that seed, another one in every launch. blocks: a grid has no more of them along x, so that loops over
  // a grid iterate (every kernel of ours has one, since grids are capped: launch.h). launched: the name of each
  // kernel that ran is added to the file (all that follows), a line each.
  Ways ways = ways_of_environment();
  bool run_kernels = true;  // else nothing is computed, and every kernel is there: to count what is started
  std::string log = "";     // a file for what is called from now on, a line each (Call::text())
};

// One call, or one operation of a graph that is launched.
struct Call {
  enum class How { kCalled, kCaptured, kReplayed };  // in order; into a graph; by a graph's launch
  How how = How::kCalled;
  std::string what;  // "kernel gemm_f", "copy in", "fill", "record", "wait", "host waits", "allocate", "launch" ...
  std::string node =
      "";           // of the kernel at work on the calling thread, where the backend tells (FakeDriver::observer())
  int stream = -1;  // the n-th that was made; -1: of none
  std::uint64_t bytes = 0;   // of copies, fills, allocations
  std::uint64_t blocks = 0;  // of kernels
  std::string text() const;  // separated by tabs, in the order of the fields
};

// What was done so far.
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
  // Everything must have been given back by then, except after lose().
  ~FakeDriver();
  FakeDriver(const FakeDriver&) = delete;
  FakeDriver& operator=(const FakeDriver&) = delete;

  const DriverCalls& calls() const;
  std::shared_ptr<const Driver> driver() const;  // REQUIRES: the options let it start

  // --- faults --------------------------------------------------------------------------------------------------------

  // Later kernels run in orders from this seed (Ways::order).
  void set_order(std::uint64_t seed);
  // The nth allocation from now (1 = the next) finds no memory; the nth kernel from now breaks its GPU with `code`, or
  // does not end before end_hang().
  void fail_allocation(std::int64_t nth);
  void fail_launch(std::int64_t nth, CuResult code = kCuLaunchFailed);
  void hang_launch(std::int64_t nth);
  void end_hang();
  void lose(int gpu, CuResult code = kCuEccUncorrectable);

  // --- libraries of the vendor, as fakes (argosy/comm/nccl/fake) ----------------------------------------------------

  // Puts `run` into the order of the stream; meanwhile the memory of all GPUs may be touched.
  void enqueue(CuStream stream, std::string name, std::function<CuResult()> run);
  // Kernels on these streams follow pointers into the memory of each other's GPUs, as NCCL's do in one process where
  // GPUs reach each other: a violation where that memory's pool is not open to them.
  void follow_pointers(std::span<const CuStream> streams, const char* what);
  // The one there is.
  static FakeDriver* current();

  // For CudaBackend::Options: calls get the names of nodes. Nothing is recorded into graphs then.
  static KernelObserver* observer();

  // --- what happened -------------------------------------------------------------------------------------------------

  Counts counts() const;
  // From here on calls are kept; what was kept until now.
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

  class State;  // of the files in this folder

 private:
  std::unique_ptr<State> state_;
};

}  // namespace argosy::cuda::fake
