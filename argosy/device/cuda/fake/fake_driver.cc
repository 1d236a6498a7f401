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
std::atomic<Cards::State*>& the_state() {
  static std::atomic<Cards::State*> state{nullptr};
  return state;
}

CardState* card_of(CuDevice device) {
  Cards::State* const s = Cards::State::current();
  if (device < 0 || device >= static_cast<int>(s->cards.size())) return nullptr;
  return s->cards[static_cast<std::size_t>(device)].get();
}

CuResult init(unsigned flags) {
  Cards::State* const s = Cards::State::current();
  if (s->options.init == kCuSuccess) s->started = true;
  return flags == 0 ? s->options.init : kCuInvalidValue;
}
CuResult version(int* value) {
  *value = Cards::State::current()->options.version;
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
  Cards::State* const s = Cards::State::current();
  if (!s->started) return kCuNotInitialized;
  *value = static_cast<int>(s->cards.size());
  return kCuSuccess;
}
CuResult get(CuDevice* device, int ordinal) {
  *device = ordinal;
  return card_of(*device) != nullptr ? kCuSuccess : kCuInvalidDevice;
}
CuResult name(char* text, int length, CuDevice device) {
  CardState* const card = card_of(device);
  if (card == nullptr) return kCuInvalidDevice;
  std::snprintf(text, static_cast<std::size_t>(length), "%s", card->facts.name.c_str());
  return kCuSuccess;
}
CuResult uuid(CuUuid* value, CuDevice device) {
  CardState* const card = card_of(device);
  if (card == nullptr) return kCuInvalidDevice;
  for (unsigned char& b : value->bytes) b = static_cast<unsigned char>(16 * card->ordinal + (&b - value->bytes));
  return kCuSuccess;
}
CuResult total_memory(std::size_t* bytes, CuDevice device) {
  CardState* const card = card_of(device);
  if (card == nullptr) return kCuInvalidDevice;
  *bytes = card->facts.memory_bytes;
  return kCuSuccess;
}
CuResult attribute(int* value, int which, CuDevice device) {
  CardState* const card = card_of(device);
  if (card == nullptr) return kCuInvalidDevice;
  switch (which) {
    case kCuMaxThreadsPerBlock: *value = 1024; break;
    case kCuMaxSharedPerBlock: *value = 48 << 10; break;
    case kCuMaxSharedPerBlockOptin: *value = 96 << 10; break;
    case kCuWarpSize: *value = 32; break;
    case kCuMultiprocessors: *value = card->facts.multiprocessors; break;
    case kCuMaxThreadsPerMultiprocessor: *value = 2048; break;
    case kCuMajor: *value = card->facts.major; break;
    case kCuMinor: *value = card->facts.minor; break;
    case kCuMemoryPools: *value = Cards::State::current()->options.pools ? 1 : 0; break;
    case kCuComputeMode: *value = 0; break;
    default: return kCuInvalidValue;
  }
  return kCuSuccess;
}
CuResult pci(char* text, int length, CuDevice device) {
  CardState* const card = card_of(device);
  if (card == nullptr) return kCuInvalidDevice;
  std::snprintf(text, static_cast<std::size_t>(length), "%s", card->facts.pci.c_str());
  return kCuSuccess;
}
CuResult can_access(int* can, CuDevice device, CuDevice peer) {
  if (card_of(device) == nullptr || card_of(peer) == nullptr) return kCuInvalidDevice;
  *can = device != peer && Cards::State::current()->options.peers_reach ? 1 : 0;
  return kCuSuccess;
}
CuResult retain(CuContext* context, CuDevice device) {
  CardState* const card = card_of(device);
  if (card == nullptr) return kCuInvalidDevice;
  if (card->broken != kCuSuccess) return card->broken;
  if (const CuResult refused = Cards::State::current()->options.contexts; refused != kCuSuccess) return refused;
  std::lock_guard lock(Cards::State::current()->mutex);
  ++card->holds;
  *context = reinterpret_cast<CuContext>(&card->context);
  return kCuSuccess;
}
CuResult release(CuDevice device) {
  CardState* const card = card_of(device);
  if (card == nullptr) return kCuInvalidContext;
  std::lock_guard lock(Cards::State::current()->mutex);
  if (card->holds == 0) return kCuInvalidContext;
  --card->holds;
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

// Every call of the driver is made by way of one of these.
template <auto kCall>
struct Counted;
template <typename... A, CuResult (*DriverCalls::*kCall)(A...)>
struct Counted<kCall> {
  static std::atomic<std::int64_t>*& count() {
    static std::atomic<std::int64_t>* counter = nullptr;
    return counter;
  }
  static CuResult call(A... arguments) {
    count()->fetch_add(1, std::memory_order_relaxed);
    return (Cards::State::current()->calls.*kCall)(arguments...);
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
  return context == nullptr ? kCuSuccess : context->card->broken.load();
}

Cards::State* Cards::State::current() {
  State* const state = the_state().load(std::memory_order_acquire);
  ARGOSY_CHECK(state != nullptr);
  return state;
}

Cards::State::State(Options o) : options(std::move(o)), order(options.ways.order) {
  for (const Card& facts : options.cards) {
    auto card = std::make_unique<CardState>();
    card->ordinal = static_cast<int>(cards.size());
    card->facts = facts;
    if (facts.pci.empty()) card->facts.pci = str_cat("0000:0", card->ordinal + 1, ":00.0");
    card->context.card = card.get();
    card->address_bytes = 2 * facts.memory_bytes;  // room for what must not be touched
    void* const memory = mmap(nullptr, card->address_bytes, options.protect_memory ? PROT_NONE : PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ARGOSY_CHECK(memory != MAP_FAILED);
    card->memory = static_cast<std::byte*>(memory);
    card->holes[reinterpret_cast<CuPointer>(memory)] = card->address_bytes;
    cards.push_back(std::move(card));
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

Cards::State::~State() {
  // Those of a device that hung: what was left behind is at work until its hang ends.
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
  for (const auto& card : cards) {
    ASAN_UNPOISON_MEMORY_REGION(card->memory, card->address_bytes);
    munmap(card->memory, card->address_bytes);
  }
}

void Cards::State::violation(std::string what) { violations.push_back(std::move(what)); }

CardState* Cards::State::card_at(CuPointer pointer) {
  for (const auto& card : cards) {
    const auto begin = reinterpret_cast<CuPointer>(card->memory);
    if (pointer >= begin && pointer < begin + card->address_bytes) return card.get();
  }
  return nullptr;
}

bool Cards::State::check_memory(const char* what, CuPointer pointer, std::size_t bytes) {
  CardState* const card = card_at(pointer);
  if (card == nullptr) return violation(str_cat(what, ": not a card's memory")), false;
  auto found = card->allocations.upper_bound(pointer);
  if (found == card->allocations.begin()) return violation(str_cat(what, ": memory that is not allocated")), false;
  --found;
  if (pointer + bytes > found->first + found->second.bytes) {
    return violation(str_cat(what, " of ", bytes, " B at ", pointer - found->first, " of an allocation of ",
                             found->second.bytes, " B: freed, or beyond its end")),
           false;
  }
  if (!found->second.ready) return violation(str_cat(what, ": before the allocation's place in its stream")), false;
  return true;
}

std::vector<on_host::Range> Cards::State::reachable(const CardState* card) const {
  std::vector<on_host::Range> ranges;
  for (const auto& other : cards) {
    if (other.get() != card && !other->open_to.contains(card)) continue;
    for (const auto& [at, allocation] : other->allocations) ranges.push_back({at, at + allocation.bytes});
  }
  for (const auto& [block, bytes] : pinned) {
    const auto at = reinterpret_cast<std::uintptr_t>(block);
    ranges.push_back({at, at + bytes});
  }
  std::sort(ranges.begin(), ranges.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  return ranges;
}

void Cards::State::touch(CardState* card, bool begin) {
  card->touching += begin ? 1 : -1;
  if (!options.protect_memory || card->touching != (begin ? 1 : 0)) return;
  mprotect(card->memory, card->address_bytes, begin ? PROT_READ | PROT_WRITE : PROT_NONE);
}

Cards::Cards(Options options) : state_(std::make_unique<State>(std::move(options))) { state_->owner = this; }
Cards::~Cards() = default;
const DriverCalls& Cards::calls() const { return state_->counted; }
std::shared_ptr<const Driver> Cards::driver() const { return Driver::over(state_->counted).value(); }

void Cards::fail_allocation(std::int64_t nth) {
  std::lock_guard lock(state_->mutex);
  state_->fail_allocation_in = nth;
}
void Cards::fail_launch(std::int64_t nth, CuResult code) {
  std::lock_guard lock(state_->mutex);
  state_->fail_launch_in = nth;
  state_->launch_failure = code;
}
void Cards::hang_launch(std::int64_t nth) {
  std::lock_guard lock(state_->mutex);
  state_->hang_launch_in = nth;
  state_->hang_ended = false;
}
void Cards::end_hang() {
  std::lock_guard lock(state_->mutex);
  state_->hang_ended = true;
  state_->changed.notify_all();
}
void Cards::lose(int card, CuResult code) {
  std::lock_guard lock(state_->mutex);
  state_->cards[static_cast<std::size_t>(card)]->broken = code;
}

void Cards::enqueue(CuStream handle, std::string name, std::function<CuResult()> run) {
  State* const s = state_.get();
  std::lock_guard lock(s->mutex);
  s->push(reinterpret_cast<Stream*>(handle), {.name = std::move(name), .run = [s, run = std::move(run)] {
                                                const auto touch_all = [s](bool begin) {
                                                  std::lock_guard inner(s->mutex);
                                                  for (const auto& card : s->cards) s->touch(card.get(), begin);
                                                };
                                                touch_all(true);
                                                const CuResult result = run();
                                                touch_all(false);
                                                return result;
                                              }});
}

void Cards::follow_pointers(std::span<const CuStream> streams, const char* what) {
  State* const s = state_.get();
  std::lock_guard lock(s->mutex);
  if (!s->options.peers_reach) return;
  const auto card_of = [](CuStream stream) { return reinterpret_cast<Stream*>(stream)->context->card; };
  for (CuStream const one : streams) {
    for (CuStream const other : streams) {
      const CardState *const from = card_of(one), *const memory = card_of(other);
      if (from == memory || memory->open_to.contains(from)) continue;
      s->violation(str_cat(what, " on card ", from->ordinal, " reaches for memory of card ", memory->ordinal,
                           ", whose pool is not open to it"));
    }
  }
}

Cards* Cards::current() {
  State* const state = State::current();
  return state != nullptr ? state->owner : nullptr;
}

void Cards::set_order(std::uint64_t seed) {
  std::lock_guard lock(state_->mutex);
  state_->order = seed;
  state_->ordered = 0;
}
std::size_t Cards::different_kernels() const {
  std::lock_guard lock(state_->mutex);
  return state_->launched.size();
}

namespace {
// Names nodes while their kernels run, and else lets all as it is.
class NodeNames final : public KernelObserver {
 public:
  Status before(std::string_view node, Cancellation*) override {
    current_node() = node;
    return {};
  }
  void after(std::string_view, std::int64_t) override { current_node().clear(); }
};
}  // namespace

KernelObserver* Cards::observer() {
  static NodeNames names;
  return &names;
}

std::string Call::text() const {
  constexpr const char* kHow[] = {"called", "recorded", "repeated"};
  return str_cat(kHow[static_cast<int>(how)], "\t", what, "\t", node, "\t", stream, "\t", bytes, "\t", blocks);
}

std::vector<Call> Cards::take_calls() {
  std::lock_guard lock(state_->mutex);
  state_->keeps_calls = true;
  return std::exchange(state_->calls_kept, {});
}

Counts Cards::counts() const {
  std::lock_guard lock(state_->mutex);
  return state_->counts;
}
int Cards::priority(CuStream stream) const {
  std::lock_guard lock(state_->mutex);
  return reinterpret_cast<const Stream*>(stream)->priority;
}
std::map<std::string, std::int64_t> Cards::calls_made() const {
  std::map<std::string, std::int64_t> made;
  for (const auto& [name, count] : state_->calls_made) {
    if (const std::int64_t n = count.load(); n > 0) made[name] = n;
  }
  return made;
}
int Cards::contexts(int card) const {
  std::lock_guard lock(state_->mutex);
  return state_->cards[static_cast<std::size_t>(card)]->holds;
}
std::uint64_t Cards::bytes_in_use(int card) const {
  std::lock_guard lock(state_->mutex);
  std::uint64_t bytes = 0;
  for (const auto& [pointer, allocation] : state_->cards[static_cast<std::size_t>(card)]->allocations) {
    bytes += allocation.bytes;
  }
  return bytes;
}
std::uint64_t Cards::bytes_reserved(int card) const {
  std::lock_guard lock(state_->mutex);
  return state_->cards[static_cast<std::size_t>(card)]->reserved;
}
std::vector<std::string> Cards::violations() const {
  std::lock_guard lock(state_->mutex);
  return state_->violations;
}
std::vector<std::string> Cards::kernels() const {
  std::lock_guard lock(state_->mutex);
  return state_->kernels;
}
std::int64_t Cards::live_objects() const {
  std::lock_guard lock(state_->mutex);
  return static_cast<std::int64_t>(state_->objects.size() + state_->pinned.size());
}

}  // namespace argosy::cuda::fake
