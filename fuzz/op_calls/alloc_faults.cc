// alloc_faults: small programs whose n-th allocation fails, from making their devices to closing their session: on the
// host (operator new), or of an emulated GPU's memory. Each run ends well or in RESOURCE_EXHAUSTED; the next, without a
// fault, ends well. A process that dies or hangs is a finding.
//   alloc_faults                        200 programs, some n of each
//   alloc_faults --programs 24          fewer of them
//   alloc_faults --more 3               the next 3 allocations fail as well
//   ARGOSY_LONG=1 alloc_faults          every n
//   alloc_faults --program 12 --n 340   one run; --device gpu:1: of that device's allocations
#include <dlfcn.h>
#include <execinfo.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <new>
#include <thread>

#include "argosy/ops/ops.h"
#include "fuzz/op_calls/fault_program.h"
#include "fuzz/op_calls/operator_new.h"

#if defined(__SANITIZE_ADDRESS__)
extern "C" const char* __asan_default_options() { return "detect_leaks=0:abort_on_error=1:detect_odr_violation=0"; }
#endif

namespace {

using namespace argosy;
using namespace argosy::op_calls;

constexpr int kMostPrograms = 200;
constexpr std::uint64_t kSampled = 12;           // of the host's allocations of a program
constexpr std::int64_t kHang = 120'000'000'000;  // a run that takes longer is none that ends, on the slowest machine
constexpr int kDevices = 3;                      // the host's operator new, then the emulated GPUs
const char* const kDeviceNames[kDevices] = {"", "gpu:0", "gpu:1"};

std::int64_t now() { return std::chrono::steady_clock::now().time_since_epoch().count(); }
unsigned long long shown(std::uint64_t n) { return n; }

// What parent and children share.
struct SharedProgress {
  std::atomic<int> program{0}, device{0};
  std::atomic<std::uint64_t> n{1}, runs{0}, fired{0}, exhausted{0}, well{0}, thrown{0}, wrong{0}, next_wrong{0};
  std::atomic<std::int64_t> started{0};
  HostMemory::Where where;  // the allocation that failed
  HostMemory::Where end;    // of a process that died: who ended it
};
SharedProgress* shared = nullptr;

[[noreturn]] void note_end() {
  shared->end.size = backtrace(shared->end.frames, HostMemory::Where::kMost);
  std::abort();
}

// For addr2line -f -C -e build/.../alloc_faults.
std::string addresses(const HostMemory::Where& where) {
  std::string text;
  Dl_info self, info;
  if (dladdr(reinterpret_cast<const void*>(&addresses), &self) == 0) return text;
  for (int i = 0; i < where.size; ++i) {
    const char* const at = static_cast<const char*>(where.frames[i]);
    if (dladdr(at, &info) == 0 || info.dli_fbase != self.dli_fbase) continue;
    char address[32];
    std::snprintf(address, sizeof address, " %zx",
                  static_cast<std::size_t>(at - static_cast<const char*>(self.dli_fbase) - 1));
    text += address;
  }
  return text;
}

class Faults {
 public:
  Faults(SharedProgress& progress, std::uint64_t more, bool every) : progress_(progress), more_(more), every_(every) {}

  // From where the progress stands to the end of the program.
  void run_program(const FaultProgram& program) {
    const PreparedProgram prepared(program);
    for (; progress_.device < (program.on_gpus ? kDevices : 1); progress_.device.fetch_add(1), progress_.n = 1) {
      const std::uint64_t most = allocations_of(program, prepared);
      const std::uint64_t by = every_ ? 1 : std::max<std::uint64_t>(1, most / (progress_.device == 0 ? kSampled : 4));
      for (; progress_.n <= most; progress_.n.fetch_add(by)) run_once(program, prepared);
    }
    progress_.device = 0;
  }

  // One fault, where the progress stands. False: there was no such allocation.
  bool run_once(const FaultProgram& program, const PreparedProgram& prepared) {
    const std::uint64_t n = progress_.n;
    const DeviceRequest devices =
        devices_of(program, progress_.device == 0 ? "" : str_cat(kDeviceNames[progress_.device], ":alloc=", n));
    progress_.started = now();
    progress_.where.size = progress_.end.size = 0;
    Status status;
    bool thrown = false;
    if (progress_.device == 0) HostMemory::fail_at(n, more_);
    std::shared_ptr<DeviceSet> device_set;
    try {
      auto made = make_device_set(devices);
      if (made.ok()) device_set = *std::move(made);
      status = made.ok() ? prepared.run(device_set) : std::move(made).status();
    } catch (const std::bad_alloc&) {
      thrown = true;
    }
    const bool fired = progress_.device == 0 ? HostMemory::fail_at(0) : true;
    progress_.runs.fetch_add(1);
    if (fired) progress_.fired.fetch_add(1);
    if (thrown) {
      say(progress_.thrown, "thrown", program, "std::bad_alloc to the caller");
    } else if (status.ok()) {
      progress_.well.fetch_add(1);
    } else if (status.code() == Code::kResourceExhausted) {
      progress_.exhausted.fetch_add(1);
    } else {
      say(progress_.wrong, "wrong code", program, status.to_string());
    }
    if (device_set == nullptr) device_set = *make_device_set(devices_of(program));
    Status next = prepared.run(device_set);
    // A fault that a thread of the device set met, running ahead, is reported by the next run.
    for (std::uint64_t k = 0; fired && k <= 2 * more_ + 1 && next.code() == Code::kResourceExhausted; ++k) {
      next = prepared.run(device_set);
    }
    if (!next.ok()) say(progress_.next_wrong, "next run", program, next.to_string());
    progress_.started = 0;
    return fired;
  }

 private:
  // With some room: threads do not always allocate the same.
  std::uint64_t allocations_of(const FaultProgram& program, const PreparedProgram& prepared) const {
    const DeviceRequest devices = devices_of(program);
    const std::uint64_t before = HostMemory::allocations();
    const std::shared_ptr<DeviceSet> device_set = *make_device_set(devices);
    if (!prepared.run(device_set).ok()) return 0;
    if (progress_.device != 0) return device_set->device(progress_.device).allocator().stats().allocations;
    return (HostMemory::allocations() - before) * 5 / 4 + 1;
  }

  void say(std::atomic<std::uint64_t>& counted, const char* what, const FaultProgram& program,
           const std::string& text) {
    counted.fetch_add(1);
    const std::string line = str_cat("FINDING ", what, ": --program ", progress_.program.load(), " --n ",
                                     progress_.n.load(), " ", kDeviceNames[progress_.device], " (", program.name(),
                                     "): ", text, "\n  at", addresses(progress_.where), "\n");
    if (write(1, line.data(), line.size()) < 0) std::abort();
  }

  SharedProgress& progress_;
  const std::uint64_t more_;
  const bool every_;
};

// Ends the child that hangs. True: it went through all programs.
bool watch(pid_t child, SharedProgress& progress, bool* hung) {
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    const std::int64_t started = progress.started;
    if (started != 0 && now() - started > kHang) *hung = true, kill(child, SIGKILL);
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  int only = -1, device = 0;
  std::uint64_t n = 1, more = 0;
  std::size_t wanted = kMostPrograms;
  for (int i = 1; i + 1 < argc; i += 2) {
    const auto number = std::strtoull(argv[i + 1], nullptr, 10);
    if (std::strcmp(argv[i], "--program") == 0) only = static_cast<int>(number);
    if (std::strcmp(argv[i], "--programs") == 0) wanted = std::min<std::size_t>(number, kMostPrograms);
    if (std::strcmp(argv[i], "--n") == 0) n = number;
    if (std::strcmp(argv[i], "--more") == 0) more = number;
    for (int d = 1; d < kDevices; ++d) {
      if (std::strcmp(argv[i + 1], kDeviceNames[d]) == 0) device = d;
    }
  }
  const char* const all_n = std::getenv("ARGOSY_LONG");
  const bool every = all_n != nullptr && *all_n == '1';
  char folder[] = "/tmp/argosy_alloc_faults_XXXXXX";
  if (mkdtemp(folder) == nullptr || chdir(folder) != 0) return 3;
  void* const memory = mmap(nullptr, sizeof(SharedProgress) + kMostPrograms * sizeof(FaultProgram),
                            PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 3;
  auto& progress = *new (memory) SharedProgress;
  auto* const programs = reinterpret_cast<FaultProgram*>(static_cast<char*>(memory) + sizeof(SharedProgress));
  static_cast<void>(builtin_ops());  // the same addresses in every process
  static_cast<void>(cpu_kernels());
  HostMemory::note_where(&progress.where);
  shared = &progress;
  std::set_terminate(note_end);
  // Chosen in a process of its own: this one has no threads when it forks.
  const pid_t choosing = fork();
  if (choosing == 0) {
    const auto chosen = choose_programs(wanted);
    std::copy(chosen.begin(), chosen.end(), programs);
    progress.program = static_cast<int>(chosen.size());
    _exit(0);
  }
  int status = 0;
  waitpid(choosing, &status, 0);
  const int count = progress.program;
  Faults faults(progress, more, every);
  if (only >= 0 && only < count) {
    progress.program = only;
    progress.n = n;
    progress.device = device;
    const bool there = faults.run_once(programs[only], PreparedProgram(programs[only]));
    std::printf("%s: %s\n", programs[only].name().c_str(), there ? "failed there" : "no such allocation");
    std::fflush(stdout);
    _exit(progress.wrong + progress.thrown + progress.next_wrong > 0 ? 1 : 0);
  }
  std::uint64_t deaths = 0;
  for (progress.program = 0; progress.program < count;) {
    progress.started = 0;
    const pid_t child = fork();
    if (child == 0) {
      for (; progress.program < count; progress.program.fetch_add(1), progress.n = 1)
        faults.run_program(programs[progress.program]);
      _exit(0);
    }
    bool hung = false;
    if (watch(child, progress, &hung)) continue;
    ++deaths;
    std::printf("FINDING %s: --program %d --n %llu %s (%s)\n  at%s\n  ended at%s\n", hung ? "hang" : "death",
                progress.program.load(), shown(progress.n), kDeviceNames[progress.device],
                programs[progress.program].name().c_str(), addresses(progress.where).c_str(),
                addresses(progress.end).c_str());
    std::fflush(stdout);
    progress.n.fetch_add(every ? 1 : 97);
  }
  std::printf(
      "%d programs, %llu runs, a fault in %llu: %llu ended well, %llu in RESOURCE_EXHAUSTED, %llu in another error, "
      "%llu threw std::bad_alloc to the caller, %llu next runs failed, %llu deaths\n",
      count, shown(progress.runs), shown(progress.fired), shown(progress.well), shown(progress.exhausted),
      shown(progress.wrong), shown(progress.thrown), shown(progress.next_wrong), shown(deaths));
  std::error_code failed;
  if (chdir("/") == 0) std::filesystem::remove_all(folder, failed);
  const bool good =
      count == static_cast<int>(wanted) && deaths + progress.wrong + progress.thrown + progress.next_wrong == 0;
  return good && progress.fired > 0 ? 0 : 1;
}
