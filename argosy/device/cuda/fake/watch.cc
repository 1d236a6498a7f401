#include "argosy/device/cuda/fake/watch.h"

#include <link.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "argosy/base/str.h"

namespace argosy::on_host {

namespace {

constexpr std::size_t kPage = 512;           // bytes of memory
constexpr std::size_t kMostPages = 1 << 15;  // kept; their shadow takes 20 KB each

// The thread that accessed a byte, packed into one word; 0: none. The fields are truncated. A race is missed if block
// or epoch numbers differ by exactly a multiple of a field's range.
struct Who {
  std::uint64_t word = 0;

  static Who of(std::uint64_t block, unsigned thread, std::uint32_t epoch, std::uint32_t warp_epoch, bool atomic) {
    return {(block & 0xffffff) << 40 | std::uint64_t{thread & 0x3ff} << 30 | std::uint64_t{epoch & 0xffff} << 14 |
            std::uint64_t{warp_epoch & 0xfff} << 2 | (atomic ? 2 : 0) | 1};
  }
  explicit operator bool() const { return word != 0; }
  std::uint64_t block() const { return word >> 40; }
  unsigned thread() const { return word >> 30 & 0x3ff; }
  unsigned warp() const { return thread() / 32; }
  bool atomic() const { return (word & 2) != 0; }
  bool same_thread(Who b) const { return word >> 30 == b.word >> 30; }
  bool same_epoch(Who b) const { return (word >> 14 & 0xffff) == (b.word >> 14 & 0xffff); }
  bool same_warp_epoch(Who b) const { return (word >> 2 & 0xfff) == (b.word >> 2 & 0xfff); }
};

// True if the two accesses are ordered. REQUIRES: `a` is not the later one.
bool ordered(Who a, Who b) {
  if (a.same_thread(b)) return true;
  if (a.block() != b.block()) return false;
  return !a.same_epoch(b) || (a.warp() == b.warp() && !a.same_warp_epoch(b));
}

// How far apart two accesses are. Accesses of different blocks race whatever is synchronised within a block; those of
// different warps race whatever is synchronised within a warp.
int distance(Who a, Who b) { return a.block() != b.block() ? 3 : a.warp() != b.warp() ? 2 : a.same_thread(b) ? 0 : 1; }

struct Byte {
  Who write, read[2];
  std::uint32_t write_code = 0, read_code[2] = {};
};

}  // namespace

class Shadow {
 public:
  static Shadow& of_this_thread() {
    static thread_local Shadow shadow;
    return shadow;
  }

  void begin_launch() {
    ++launch_;
    if (pages_.size() <= kMostPages) return;
    pages_.clear();
    near_.fill({});
  }
  Byte& at(std::uintptr_t address) {
    const std::uintptr_t number = address / kPage;
    auto& [near_number, page] = near_[number % near_.size()];
    if (page == nullptr || near_number != number) {
      auto& kept = pages_[number];
      if (kept == nullptr) kept = std::make_unique<Page>();
      near_number = number;
      page = kept.get();
    }
    if (page->launch != launch_) {
      page->bytes.fill({});
      page->launch = launch_;
    }
    return page->bytes[address % kPage];
  }

 private:
  struct Page {
    std::uint64_t launch = 0;
    std::array<Byte, kPage> bytes;
  };
  std::unordered_map<std::uintptr_t, std::unique_ptr<Page>> pages_;
  std::array<std::pair<std::uintptr_t, Page*>, 256> near_{};  // some of them, by the last digits of their numbers
  std::uint64_t launch_ = 0;
};

// Where the kernel's shared object is mapped.
struct Watch::Object {
  std::string file;
  std::uintptr_t base = 0;
  std::vector<Range> mapped;
  Range shared;  // of the calling OS thread
};

Watch::Watch(std::vector<Range> memory) : memory_(std::move(memory)), shadow_(Shadow::of_this_thread()) {
  shadow_.begin_launch();
}
Watch::~Watch() = default;

void Watch::begin(const Kernel& kernel, unsigned threads_of_block) {
  find_object(&kernel);
  warp_epochs_.assign((threads_of_block + 31) / 32, 0);
}

void Watch::begin_block(std::uint64_t block) {
  block_ = block;
  epoch_ = 0;
  std::fill(warp_epochs_.begin(), warp_epochs_.end(), 0);
}
void Watch::synced() {
  ++epoch_;
  std::fill(warp_epochs_.begin(), warp_epochs_.end(), 0);
}
void Watch::synced_warp(unsigned warp) { ++warp_epochs_[warp]; }

void Watch::find_object(const void* inside) {
  struct Search {
    std::uintptr_t inside;
    std::unique_ptr<Object> object;
  } search{reinterpret_cast<std::uintptr_t>(inside), nullptr};
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* argument) {
        auto& s = *static_cast<Search*>(argument);
        auto object = std::make_unique<Object>();
        object->file = info->dlpi_name;
        object->base = info->dlpi_addr;
        bool here = false;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& segment = info->dlpi_phdr[i];
          const std::uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
          if (segment.p_type == PT_LOAD) {
            object->mapped.push_back({begin, begin + segment.p_memsz});
            here = here || (s.inside >= begin && s.inside < begin + segment.p_memsz);
          } else if (segment.p_type == PT_TLS) {
            const auto data = reinterpret_cast<std::uintptr_t>(info->dlpi_tls_data);
            object->shared = {data, data == 0 ? 0 : data + segment.p_memsz};
          }
        }
        if (!here) return 0;
        s.object = std::move(object);
        return 1;
      },
      &search);
  object_ = std::move(search.object);
}

const Range* Watch::find(std::uintptr_t at) {
  if (last_ < memory_.size() && at >= memory_[last_].begin && at < memory_[last_].end) return &memory_[last_];
  const auto after = std::upper_bound(memory_.begin(), memory_.end(), at,
                                      [](std::uintptr_t a, const Range& r) { return a < r.begin; });
  if (after == memory_.begin()) return nullptr;
  last_ = static_cast<std::size_t>(after - memory_.begin()) - 1;
  return at < memory_[last_].end ? &memory_[last_] : nullptr;
}

void Watch::touched(unsigned thread, Range stack, const void* address, std::size_t bytes, Access access,
                    const void* code) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  if (at >= stack.begin && at < stack.end) return;
  if (const Range* const range = find(at)) {
    if (at + bytes > range->end) return outside(thread, at, bytes, access, code);
    return look(thread, at, bytes, access, code, false);
  }
  // An object's thread_local variables exist for an OS thread only after their first use.
  if (object_->shared.begin == 0) find_object(reinterpret_cast<const void*>(object_->mapped.front().begin));
  if (at >= object_->shared.begin && at < object_->shared.end) return look(thread, at, bytes, access, code, true);
  for (const Range& r : object_->mapped) {
    if (access == Access::kRead && at >= r.begin && at < r.end) return;
  }
  outside(thread, at, bytes, access, code);
}

void Watch::look(unsigned thread, std::uintptr_t at, std::size_t bytes, Access access, const void* code, bool shared) {
  const Who me = Who::of(block_, thread, epoch_, warp_epochs_[thread / 32], access == Access::kAtomic);
  const auto offset = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(code) - 1 - object_->base);
  const bool reads = access == Access::kRead;
  const auto collides = [&](Who other) { return other && !ordered(other, me) && !(other.atomic() && me.atomic()); };
  const auto say = [&](Who other, std::uint32_t other_code, const char* did) {
    report(
        str_cat(other_code, " ", offset),
        str_cat(thread_name(other.block(), other.thread()), did, code_at(other_code), ", ", thread_name(block_, thread),
                reads ? " reads" : " writes", " the same", code_at(offset), ", and nothing orders the two"));
  };
  for (std::size_t i = 0; i < bytes; ++i) {
    Byte& b = shadow_.at(at + i);
    // The shared memory of another block is other memory.
    if (shared && b.write && b.write.block() != me.block()) b.write = {};
    for (Who& r : b.read) {
      if (shared && r && r.block() != me.block()) r = {};
    }
    if (shared && access != Access::kWrite && !b.write) {
      report(str_cat("fresh ", offset),
             str_cat(thread_name(block_, thread), " reads shared memory that no thread wrote", code_at(offset)));
    }
    if (collides(b.write)) say(b.write, b.write_code, " writes");
    if (!reads) {
      for (int r = 0; r < 2; ++r) {
        if (collides(b.read[r])) say(b.read[r], b.read_code[r], " reads");
      }
      b.write = me;
      b.write_code = offset;
      continue;
    }
    // A reader that comes before this one says no more than this one.
    if (!b.read[0] || ordered(b.read[0], me)) {
      b.read[0] = me;
      b.read_code[0] = offset;
    } else if (!b.read[1] || ordered(b.read[1], me) || distance(b.read[0], me) > distance(b.read[0], b.read[1])) {
      b.read[1] = me;
      b.read_code[1] = offset;
    }
  }
}

void Watch::outside(unsigned thread, std::uintptr_t at, std::size_t bytes, Access access, const void* code) {
  const auto offset = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(code) - 1 - object_->base);
  const auto after = std::upper_bound(memory_.begin(), memory_.end(), at,
                                      [](std::uintptr_t a, const Range& r) { return a < r.begin; });
  std::string where = "in no allocation";
  if (after != memory_.begin()) {
    const Range& before = *std::prev(after);
    where = str_cat(at + bytes - before.end, " B beyond an allocation of ", before.end - before.begin, " B");
  }
  if (after != memory_.end() && (after == memory_.begin() || after->begin - at < at - std::prev(after)->end)) {
    where = str_cat(after->begin - at, " B before an allocation of ", after->end - after->begin, " B");
  }
  report(str_cat("outside ", offset),
         str_cat(thread_name(block_, thread), access == Access::kRead ? " reads " : " writes ", bytes, " B",
                 code_at(offset), ", ", where));
}

void Watch::misaligned(unsigned thread, const void* at, const char* file, unsigned line, unsigned alignment) {
  const std::string what =
      str_cat(thread_name(block_, thread), " is at ", reinterpret_cast<std::uintptr_t>(at) % alignment,
              " B beyond a multiple of ", alignment, " B, which it takes for one (", file, ":", line, ")");
  if (alignment > 8) std::fprintf(stderr, "%s\n", what.c_str());  // the host's processor may end here as well
  report(str_cat(file, ":", line), what);
}

void Watch::lane_missing(unsigned thread, unsigned lane) {
  report(str_cat("lane"), str_cat(thread_name(block_, thread), " asks lane ", lane, ", which does not take part"));
}

void Watch::report(const std::string& place, const std::string& what) {
  constexpr std::size_t kMost = 20;
  if (found_.size() < kMost && places_.insert(place).second) found_.push_back(what);
}

std::string Watch::code_at(std::uint32_t offset) const {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (; offset > 0; offset /= 16) hex.insert(hex.begin(), kDigits[offset % 16]);
  return str_cat(" (", object_->file.substr(object_->file.rfind('/') + 1), "+0x", hex, ")");
}

std::string Watch::thread_name(std::uint64_t block, unsigned thread) const {
  return str_cat("thread ", thread, " of block ", block);
}

}  // namespace argosy::on_host
