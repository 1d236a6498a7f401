#include "argosy/device/cuda/fake/fake_driver.h"

#include <sanitizer/asan_interface.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "argosy/device/cuda/fake/fake_driver_state.h"

namespace argosy::cuda::fake {

namespace {

// The driver's functions are plain functions: they find the state here. Test-only, one at a time.
std::atomic<FakeDriver::State*>& the_state() {
  static std::atomic<FakeDriver::State*> state{nullptr};
  return state;
}

GpuState* gpu_of(CuDevice device) {
  FakeDriver::State* const s = FakeDriver::State::current();
  if (device < 0 || device >= static_cast<int>(s->gpus.size())) return nullptr;
  return s->gpus[static_cast<std::size_t>(device)].get();
}

CuResult init(unsigned flags) {
  FakeDriver::State* const s = FakeDriver::State::current();
  if (s->options.init == kCuSuccess) s->started = true;
  return flags == 0 ? s->options.init : kCuInvalidValue;
}
CuResult version(int* value) {
  *value = FakeDriver::State::current()->options.version;
  return kCuSuccess;
}
CuResult error_name(CuResult error, const char** name) {
  switch (error) {
    case kCuOutOfMemory: *name = "CUDA_ERROR_OUT_OF_MEMORY"; break;
    case kCuNoDevice: *name = "CUDA_ERROR_NO_DEVICE"; break;
    case kCuLaunchFailed: *name = "CUDA_ERROR_LAUNCH_FAILED"; break;
    case kCuEccUncorrectable: *name = "CUDA_ERROR_ECC_UNCORRECTABLE"; break;
    case kCuSystemDriverMismatch: *name = "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"; break;
    default: *name = "CUDA_ERROR_OF_THE_FAKE"; break;
  }
  return kCuSuccess;
}
CuResult error_text(CuResult error, const char** text) {
  *text = error == kCuLaunchFailed ? "unspecified launch failure" : "an error of the fake driver";
  return kCuSuccess;
}
CuResult count(int* value) {
  FakeDriver::State* const s = FakeDriver::State::current();
  if (!s->started) return kCuNotInitialized;
  *value = static_cast<int>(s->gpus.size());
  return kCuSuccess;
}
CuResult get(CuDevice* device, int ordinal) {
  *device = ordinal;
  return gpu_of(*device) != nullptr ? kCuSuccess : kCuInvalidDevice;
}
CuResult name(char* text, int length, CuDevice device) {
  GpuState* const gpu = gpu_of(device);
  if (gpu == nullptr) return kCuInvalidDevice;
  std::snprintf(text, static_cast<std::size_t>(length), "%s", gpu->facts.name.c_str());
  return kCuSuccess;
}
CuResult uuid(CuUuid* value, CuDevice device) {
  GpuState* const gpu = gpu_of(device);
  if (gpu == nullptr) return kCuInvalidDevice;
  for (unsigned char& b : value->bytes) b = static_cast<unsigned char>(16 * gpu->ordinal + (&b - value->bytes));
  return kCuSuccess;
}
CuResult total_memory(std::size_t* bytes, CuDevice device) {
  GpuState* const gpu = gpu_of(device);
  if (gpu == nullptr) return kCuInvalidDevice;
  *bytes = gpu->facts.memory_bytes;
  return kCuSuccess;
}
CuResult attribute(int* value, int which, CuDevice device) {
  GpuState* const gpu = gpu_of(device);
  if (gpu == nullptr) return kCuInvalidDevice;
  switch (which) {
    case kCuMaxThreadsPerBlock: *value = 1024; break;
    case kCuMaxSharedPerBlock: *value = 48 << 10; break;
    case kCuMaxSharedPerBlockOptin: *value = 96 << 10; break;
    case kCuWarpSize: *value = 32; break;
    case kCuMultiprocessors: *value = gpu->facts.multiprocessors; break;
    case kCuMaxThreadsPerMultiprocessor: *value = 2048; break;
    case kCuMajor: *value = gpu->facts.major; break;
    case kCuMinor: *value = gpu->facts.minor; break;
    case kCuMemoryPools: *value = FakeDriver::State::current()->options.pools ? 1 : 0; break;
    case kCuComputeMode: *value = 0; break;
    default: return kCuInvalidValue;
  }
  return kCuSuccess;
}
CuResult pci(char* text, int length, CuDevice device) {
  GpuState* const gpu = gpu_of(device);
  if (gpu == nullptr) return kCuInvalidDevice;
  std::snprintf(text, static_cast<std::size_t>(length), "%s", gpu->facts.pci.c_str());
  return kCuSuccess;
}
CuResult can_access(int* can, CuDevice device, CuDevice peer) {
  if (gpu_of(device) == nullptr || gpu_of(peer) == nullptr) return kCuInvalidDevice;
  *can = device != peer && FakeDriver::State::current()->options.peers_reach ? 1 : 0;
  return kCuSuccess;
}
CuResult retain(CuContext* context, CuDevice device) {
  GpuState* const gpu = gpu_of(device);
  if (gpu == nullptr) return kCuInvalidDevice;
  if (gpu->broken != kCuSuccess) return gpu->broken;
  if (const CuResult refused = FakeDriver::State::current()->options.contexts; refused != kCuSuccess) return refused;
  std::lock_guard lock(FakeDriver::State::current()->mutex);
  ++gpu->holds;
  *context = reinterpret_cast<CuContext>(&gpu->context);
  return kCuSuccess;
}
CuResult release(CuDevice device) {
  GpuState* const gpu = gpu_of(device);
  if (gpu == nullptr) return kCuInvalidContext;
  std::lock_guard lock(FakeDriver::State::current()->mutex);
  if (gpu->holds == 0) return kCuInvalidContext;
  --gpu->holds;
  return kCuSuccess;
}
CuResult get_current(CuContext* context) {
  *context = reinterpret_cast<CuContext>(current_context());
  return kCuSuccess;
}
CuResult set_current(CuContext context) {
  current_context() = reinterpret_cast<Context*>(context);
  return current_error();
}

// Every call of the driver goes through one of these.
template <auto kCall>
struct Counted;
template <typename... A, CuResult (*DriverCalls::*kCall)(A...)>
struct Counted<kCall> {
  // Of the driver that is there now; a thread that a test gave up may still be calling.
  static std::atomic<std::atomic<std::int64_t>*>& count() {
    static std::atomic<std::atomic<std::int64_t>*> counter = nullptr;
    return counter;
  }
  static CuResult call(A... arguments) {
    count().load(std::memory_order_acquire)->fetch_add(1, std::memory_order_relaxed);
    return (FakeDriver::State::current()->calls.*kCall)(arguments...);
  }
};

}  // namespace

Ways ways_of_environment() {
  Ways ways;
  const char* const text = std::getenv("ARGOSY_FAKE_KERNELS");
  std::istringstream words(text == nullptr ? "" : text);
  for (std::string word; words >> word;) {
    if (word == "watch") {
      ways.watch = true;
    } else if (word.starts_with("order=")) {
      ways.order = std::strtoull(word.c_str() + 6, nullptr, 10);
    } else if (word.starts_with("blocks=")) {
      ways.blocks = static_cast<unsigned>(std::strtoul(word.c_str() + 7, nullptr, 10));
    } else if (word.starts_with("launched=")) {
      std::getline(words, ways.launched);
      ways.launched.insert(0, word.substr(9));
    } else {
      std::fprintf(stderr, "ARGOSY_FAKE_KERNELS: \"%s\" is none of watch, order=SEED, blocks=N, launched=FILE\n",
                   word.c_str());
      std::abort();
    }
  }
  return ways;
}

Context*& current_context() {
  static thread_local Context* context = nullptr;
  return context;
}

std::string& current_node() {
  static thread_local std::string node;
  return node;
}

CuResult current_error() {
  Context* const context = current_context();
  return context == nullptr ? kCuSuccess : context->gpu->broken.load();
}

FakeDriver::State* FakeDriver::State::current() {
  State* const state = the_state().load(std::memory_order_acquire);
  ARGOSY_CHECK(state != nullptr);
  return state;
}

FakeDriver::State::State(Options o) : options(std::move(o)), order(options.ways.order) {
  for (const FakeGpu& facts : options.gpus) {
    auto gpu = std::make_unique<GpuState>();
    gpu->ordinal = static_cast<int>(gpus.size());
    gpu->facts = facts;
    if (facts.pci.empty()) gpu->facts.pci = str_cat("0000:0", gpu->ordinal + 1, ":00.0");
    gpu->context.gpu = gpu.get();
    gpu->address_bytes = 2 * facts.memory_bytes;  // room for what must not be touched
    void* const memory = mmap(nullptr, gpu->address_bytes, options.protect_memory ? PROT_NONE : PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ARGOSY_CHECK(memory != MAP_FAILED);
    gpu->memory = static_cast<std::byte*>(memory);
    gpu->holes[reinterpret_cast<CuPointer>(memory)] = gpu->address_bytes;
    gpus.push_back(std::move(gpu));
  }
  calls.cuInit = init;
  calls.cuDriverGetVersion = version;
  calls.cuGetErrorName = error_name;
  calls.cuGetErrorString = error_text;
  calls.cuDeviceGetCount = count;
  calls.cuDeviceGet = get;
  calls.cuDeviceGetName = name;
  calls.cuDeviceGetUuid_v2 = uuid;
  calls.cuDeviceTotalMem_v2 = total_memory;
  calls.cuDeviceGetAttribute = attribute;
  calls.cuDeviceGetPCIBusId = pci;
  calls.cuDeviceCanAccessPeer = can_access;
  calls.cuDevicePrimaryCtxRetain = retain;
  calls.cuDevicePrimaryCtxRelease_v2 = release;
  calls.cuCtxGetCurrent = get_current;
  calls.cuCtxSetCurrent = set_current;
  add_memory_calls(calls);
  add_stream_calls(calls);
  add_module_calls(calls);
#define ARGOSY_COUNTED(name, parameters)                     \
  Counted<&DriverCalls::name>::count() = &calls_made[#name]; \
  counted.name = Counted<&DriverCalls::name>::call;
  ARGOSY_CUDA_DRIVER_CALLS(ARGOSY_COUNTED)
#undef ARGOSY_COUNTED
  if (!options.log.empty()) log = std::fopen(options.log.c_str(), "w");
  ARGOSY_CHECK(options.log.empty() || log != nullptr);
  State* none = nullptr;
  ARGOSY_CHECK(the_state().compare_exchange_strong(none, this));
}

FakeDriver::State::~State() {
  // The streams of a device that hung: their work runs until the hang ends.
  {
    std::lock_guard lock(mutex);
    for (Stream* const stream : streams) stream->closing = true;
    hang_ended = true;
    changed.notify_all();
  }
  for (Stream* const stream : streams) {
    stream->thread.join();
    delete stream;
  }
  the_state().store(nullptr);
  if (log != nullptr) std::fclose(log);
  for (const auto& gpu : gpus) {
    ASAN_UNPOISON_MEMORY_REGION(gpu->memory, gpu->address_bytes);
    munmap(gpu->memory, gpu->address_bytes);
  }
}

void FakeDriver::State::violation(std::string what) { violations.push_back(std::move(what)); }

GpuState* FakeDriver::State::gpu_at(CuPointer pointer) {
  for (const auto& gpu : gpus) {
    const auto begin = reinterpret_cast<CuPointer>(gpu->memory);
    if (pointer >= begin && pointer < begin + gpu->address_bytes) return gpu.get();
  }
  return nullptr;
}

bool FakeDriver::State::check_memory(const char* what, CuPointer pointer, std::size_t bytes) {
  GpuState* const gpu = gpu_at(pointer);
  if (gpu == nullptr) return violation(str_cat(what, ": not a GPU's memory")), false;
  auto found = gpu->allocations.upper_bound(pointer);
  if (found == gpu->allocations.begin()) return violation(str_cat(what, ": memory that is not allocated")), false;
  --found;
  if (pointer + bytes > found->first + found->second.bytes) {
    return violation(str_cat(what, " of ", bytes, " B at ", pointer - found->first, " of an allocation of ",
                             found->second.bytes, " B: freed, or beyond its end")),
           false;
  }
  if (!found->second.ready) return violation(str_cat(what, ": before the allocation's place in its stream")), false;
  return true;
}

std::vector<on_host::Range> FakeDriver::State::reachable(const GpuState* gpu) const {
  std::vector<on_host::Range> ranges;
  for (const auto& other : gpus) {
    if (other.get() != gpu && !other->open_to.contains(gpu)) continue;
    for (const auto& [at, allocation] : other->allocations) ranges.push_back({at, at + allocation.bytes});
  }
  for (const auto& [block, bytes] : pinned) {
    const auto at = reinterpret_cast<std::uintptr_t>(block);
    ranges.push_back({at, at + bytes});
  }
  std::sort(ranges.begin(), ranges.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  return ranges;
}

void FakeDriver::State::touch(GpuState* gpu, bool begin) {
  gpu->touching += begin ? 1 : -1;
  if (!options.protect_memory || gpu->touching != (begin ? 1 : 0)) return;
  mprotect(gpu->memory, gpu->address_bytes, begin ? PROT_READ | PROT_WRITE : PROT_NONE);
}

FakeDriver::FakeDriver(Options options) : state_(std::make_unique<State>(std::move(options))) { state_->owner = this; }
FakeDriver::~FakeDriver() = default;
const DriverCalls& FakeDriver::calls() const { return state_->counted; }
std::shared_ptr<const Driver> FakeDriver::driver() const { return Driver::over(state_->counted).value(); }

void FakeDriver::fail_allocation(std::int64_t nth) {
  std::lock_guard lock(state_->mutex);
  state_->fail_allocation_in = nth;
}
void FakeDriver::fail_launch(std::int64_t nth, CuResult code) {
  std::lock_guard lock(state_->mutex);
  state_->fail_launch_in = nth;
  state_->launch_failure = code;
}
void FakeDriver::hang_launch(std::int64_t nth) {
  std::lock_guard lock(state_->mutex);
  state_->hang_launch_in = nth;
  state_->hang_ended = false;
}
void FakeDriver::end_hang() {
  std::lock_guard lock(state_->mutex);
  state_->hang_ended = true;
  state_->changed.notify_all();
}
void FakeDriver::lose(int gpu, CuResult code) {
  std::lock_guard lock(state_->mutex);
  state_->gpus[static_cast<std::size_t>(gpu)]->broken = code;
}

void FakeDriver::enqueue(CuStream handle, std::string name, std::function<CuResult()> run) {
  State* const s = state_.get();
  std::lock_guard lock(s->mutex);
  s->push(reinterpret_cast<Stream*>(handle), {.name = std::move(name), .run = [s, run = std::move(run)] {
                                                const auto touch_all = [s](bool begin) {
                                                  std::lock_guard inner(s->mutex);
                                                  for (const auto& gpu : s->gpus) s->touch(gpu.get(), begin);
                                                };
                                                touch_all(true);
                                                const CuResult result = run();
                                                touch_all(false);
                                                return result;
                                              }});
}

void FakeDriver::follow_pointers(std::span<const CuStream> streams, const char* what) {
  State* const s = state_.get();
  std::lock_guard lock(s->mutex);
  if (!s->options.peers_reach) return;
  const auto gpu_of = [](CuStream stream) { return reinterpret_cast<Stream*>(stream)->context->gpu; };
  for (CuStream const one : streams) {
    for (CuStream const other : streams) {
      const GpuState *const from = gpu_of(one), *const memory = gpu_of(other);
      if (from == memory || memory->open_to.contains(from)) continue;
      s->violation(str_cat(what, " on GPU ", from->ordinal, " reaches for memory of GPU ", memory->ordinal,
                           ", whose pool is not open to it"));
    }
  }
}

FakeDriver* FakeDriver::current() {
  State* const state = State::current();
  return state != nullptr ? state->owner : nullptr;
}

void FakeDriver::set_order(std::uint64_t seed) {
  std::lock_guard lock(state_->mutex);
  state_->order = seed;
  state_->ordered = 0;
}
std::size_t FakeDriver::different_kernels() const {
  std::lock_guard lock(state_->mutex);
  return state_->launched.size();
}

namespace {
// Records the name of a node while its kernel runs; it changes nothing else.
class NodeNames final : public KernelObserver {
 public:
  Status before(std::string_view node, Cancellation*) override {
    current_node() = node;
    return {};
  }
  void after(std::string_view, std::int64_t) override { current_node().clear(); }
};
}  // namespace

KernelObserver* FakeDriver::observer() {
  static NodeNames names;
  return &names;
}

std::string Call::text() const {
  constexpr const char* kHow[] = {"called", "recorded", "repeated"};
  return str_cat(kHow[static_cast<int>(how)], "\t", what, "\t", node, "\t", stream, "\t", bytes, "\t", blocks);
}

std::vector<Call> FakeDriver::take_calls() {
  std::lock_guard lock(state_->mutex);
  state_->keeps_calls = true;
  return std::exchange(state_->calls_kept, {});
}

Counts FakeDriver::counts() const {
  std::lock_guard lock(state_->mutex);
  return state_->counts;
}
int FakeDriver::priority(CuStream stream) const {
  std::lock_guard lock(state_->mutex);
  return reinterpret_cast<const Stream*>(stream)->priority;
}
std::map<std::string, std::int64_t> FakeDriver::calls_made() const {
  std::map<std::string, std::int64_t> made;
  for (const auto& [name, count] : state_->calls_made) {
    if (const std::int64_t n = count.load(); n > 0) made[name] = n;
  }
  return made;
}
int FakeDriver::contexts(int gpu) const {
  std::lock_guard lock(state_->mutex);
  return state_->gpus[static_cast<std::size_t>(gpu)]->holds;
}
std::uint64_t FakeDriver::bytes_in_use(int gpu) const {
  std::lock_guard lock(state_->mutex);
  std::uint64_t bytes = 0;
  for (const auto& [pointer, allocation] : state_->gpus[static_cast<std::size_t>(gpu)]->allocations) {
    bytes += allocation.bytes;
  }
  return bytes;
}
std::uint64_t FakeDriver::bytes_reserved(int gpu) const {
  std::lock_guard lock(state_->mutex);
  return state_->gpus[static_cast<std::size_t>(gpu)]->reserved;
}
std::vector<std::string> FakeDriver::violations() const {
  std::lock_guard lock(state_->mutex);
  return state_->violations;
}
std::vector<std::string> FakeDriver::kernels() const {
  std::lock_guard lock(state_->mutex);
  return state_->kernels;
}
std::int64_t FakeDriver::live_objects() const {
  std::lock_guard lock(state_->mutex);
  return static_cast<std::int64_t>(state_->objects.size() + state_->pinned.size());
}

}  // namespace argosy::cuda::fake
