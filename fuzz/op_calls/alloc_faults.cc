// alloc_faults: small programs whose n-th allocation on the host fails, for every n: from making a session to closing
// it. Each run ends well or in RESOURCE_EXHAUSTED; the next, without a fault, is right. A process that dies is a
// finding.
//   alloc_faults                        200 programs, some n of each
//   ARGOSY_LONG=1 alloc_faults          every n
//   alloc_faults --program 12 --n 340   one run
#include <dlfcn.h>
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

#include "argosy/op/file_policy.h"
#include "argosy/ops/ops.h"
#include "fuzz/op_calls/build_graph.h"
#include "fuzz/op_calls/draw_call.h"
#include "fuzz/op_calls/host_memory.h"

#if defined(__SANITIZE_ADDRESS__)
extern "C" const char* __asan_default_options() { return "detect_leaks=0:abort_on_error=1:detect_odr_violation=0"; }
#endif

namespace {

using namespace argosy;
using namespace argosy::op_calls;

constexpr int kPrograms = 200;
constexpr int kSampled = 12;

struct Program {
  const OpDef* op = nullptr;
  std::uint64_t seed = 0;
};

std::shared_ptr<Machine> make_machine() {
  auto machine = Machine::make({.devices = "cpu:0", .memory = "cpu:0=64MiB", .cpu_threads = 2});
  if (!machine.ok()) return nullptr;
  const auto here = FilePolicy::within({"."});
  if (here.ok()) (*machine)->set_files(*here);
  return *machine;
}

// The graph is the caller's, made before any fault.
class Prepared {
 public:
  explicit Prepared(const Program& p) : builder_(graph_) {
    const auto call = draw_call(*p.op, p.seed, {});
    made_ = builder_.add(*call);
    if (!ok()) return;
    const Node& node = graph_.node(made_.node());
    for (std::size_t i = 0; i < node.output_dtypes.size(); ++i) fetches_.push_back(made_.output(static_cast<int>(i)));
    if (fetches_.empty()) targets_.push_back(made_.control());
  }
  bool ok() const { return graph_.status().ok() && made_.valid(); }

  // A session made, run twice and closed.
  Status run(const std::shared_ptr<Machine>& machine) const {
    const RunOptions options{.timeout = std::chrono::seconds(20)};
    Session session(graph_, {.machine = machine});
    ARGOSY_RETURN_IF_ERROR(session.status());
    if (!builder_.first.empty()) ARGOSY_RETURN_IF_ERROR(session.run({}, {}, builder_.first, options).status());
    for (int k = 0; k < 2; ++k)
      ARGOSY_RETURN_IF_ERROR(session.run(builder_.feeds, fetches_, targets_, options).status());
    return session.close();
  }

 private:
  Graph graph_;
  Builder builder_;
  Value made_;
  std::vector<Value> fetches_, targets_;
};

struct Board {
  std::atomic<int> program{0};
  std::atomic<std::uint64_t> n{1}, runs{0}, fired{0}, exhausted{0}, well{0}, thrown{0}, wrong{0};
  std::atomic<std::int64_t> started{0};
  HostMemory::Where where;
};

// For addr2line -f -C -e build/.../alloc_faults: where the allocation was that failed.
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

std::int64_t now() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

bool quiet_run(const Program& p) {
  const Prepared prepared(p);
  if (!prepared.ok()) return false;
  const auto machine = make_machine();
  return machine != nullptr && prepared.run(machine).ok();
}

// One program that runs through for as many ops as there shall be; those that wait or end the process are left out.
std::vector<Program> choose() {
  std::vector<Program> programs;
  for (std::uint64_t seed = 1; seed < 40 && programs.size() < kPrograms; ++seed) {
    for (const auto& op : builtin_ops().all()) {
      if (programs.size() >= kPrograms) break;
      const bool had =
          std::any_of(programs.begin(), programs.end(), [&](const Program& p) { return p.op == op.get(); });
      // Every sixth op: they are beside those of their kind.
      const auto at = static_cast<std::size_t>(&op - &builtin_ops().all()[0]);
      if (had || op->async || op->name == "Abort" || op->name[0] == '_' || (at + seed) % 6 != 0) continue;
      if (quiet_run({op.get(), seed})) programs.push_back({op.get(), seed});
    }
  }
  return programs;
}

// The allocation that fails, counted from before the session is made. False: there was no such.
bool faulty_run(const Program& p, const Prepared& prepared, std::uint64_t n, std::uint64_t more, Board& board,
                int out) {
  const auto say = [&](const char* what, const std::string& text) {
    const std::string line = str_cat("FINDING ", what, ": ", p.op->name, " seed ", p.seed, ", allocation ", n, ": ",
                                     text, "\n  at", addresses(board.where), "\n");
    if (write(out, line.data(), line.size()) < 0) std::abort();
  };
  const auto machine = make_machine();
  board.n = n;
  board.started = now();
  Status status;
  bool thrown = false;
  board.where.size = 0;
  HostMemory::note_where(&board.where);
  HostMemory::fail_at(n, more);
  try {
    status = prepared.run(machine);
  } catch (const std::bad_alloc&) {
    thrown = true;
  }
  HostMemory::fail_at(0);
  const bool fired = HostMemory::failed();
  board.runs.fetch_add(1);
  if (fired) board.fired.fetch_add(1);
  if (thrown) {
    board.thrown.fetch_add(1);
    say("thrown", "std::bad_alloc to the caller");
  } else if (status.ok()) {
    board.well.fetch_add(1);
  } else if (status.code() == Code::kResourceExhausted) {
    board.exhausted.fetch_add(1);
  } else {
    board.wrong.fetch_add(1);
    say("wrong code", status.to_string());
  }
  const Status next = prepared.run(machine);
  if (!next.ok()) say("next run", next.to_string());
  board.started = 0;
  return fired;
}

std::uint64_t allocations_of(const Prepared& prepared) {
  const auto machine = make_machine();
  const std::uint64_t before = HostMemory::allocations();
  const Status status = prepared.run(machine);
  return status.ok() ? HostMemory::allocations() - before : 0;
}

}  // namespace

int main(int argc, char** argv) {
  int only = -1;
  std::uint64_t only_n = 0, more = 0;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--program") == 0) only = std::atoi(argv[i + 1]);
    if (std::strcmp(argv[i], "--n") == 0) only_n = std::strtoull(argv[i + 1], nullptr, 10);
    if (std::strcmp(argv[i], "--more") == 0) more = std::strtoull(argv[i + 1], nullptr, 10);
  }
  const char* const all_n = std::getenv("ARGOSY_LONG");
  const bool every = all_n != nullptr && *all_n == '1';
  char folder[] = "/tmp/argosy_alloc_faults_XXXXXX";
  if (mkdtemp(folder) == nullptr || chdir(folder) != 0) return 3;
  // Chosen in a process of its own: this one has no threads when it forks.
  void* const memory = mmap(nullptr, sizeof(Board) + kPrograms * sizeof(Program) + 8, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 3;
  auto& board = *new (memory) Board;
  auto* const programs = reinterpret_cast<Program*>(static_cast<char*>(memory) + sizeof(Board));
  static_cast<void>(builtin_ops());  // the same addresses in every process
  static_cast<void>(cpu_kernels());
  if (fork() == 0) {
    const auto chosen = choose();
    std::copy(chosen.begin(), chosen.end(), programs);
    board.program = static_cast<int>(chosen.size());
    _exit(0);
  }
  int status = 0;
  wait(&status);
  const int count = board.program;
  if (only >= 0) {
    const Prepared prepared(programs[only]);
    std::printf("%s seed %llu\n", programs[only].op->name.c_str(),
                static_cast<unsigned long long>(programs[only].seed));
    std::fflush(stdout);
    std::printf("%s\n",
                faulty_run(programs[only], prepared, only_n, more, board, 1) ? "failed there" : "no such allocation");
    std::fflush(stdout);
    _exit(0);
  }
  const std::int64_t hang_nanos = 30'000'000'000;
  std::uint64_t died = 0;
  std::string deaths;
  for (board.program = 0; board.program < count;) {
    board.started = 0;
    const pid_t child = fork();
    if (child == 0) {
      for (; board.program < count; ++board.program, board.n = 1) {
        const Program& p = programs[board.program];
        const Prepared prepared(p);
        const std::uint64_t most = allocations_of(prepared) * 5 / 4 + 1;
        const std::uint64_t by = every ? 1 : std::max<std::uint64_t>(1, most / kSampled);
        for (std::uint64_t n = board.n; n <= most; n += by) faulty_run(p, prepared, n, more, board, 1);
      }
      _exit(0);
    }
    bool hung = false;
    while (waitpid(child, &status, WNOHANG) == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      if (board.started != 0 && now() - board.started > hang_nanos) hung = true, kill(child, SIGKILL);
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && !hung) continue;
    ++died;
    std::printf("FINDING %s: --program %d --n %llu (%s seed %llu)\n  at%s\n", hung ? "hang" : "death",
                board.program.load(), static_cast<unsigned long long>(board.n.load()),
                programs[board.program].op->name.c_str(), static_cast<unsigned long long>(programs[board.program].seed),
                addresses(board.where).c_str());
    std::fflush(stdout);
    board.n += every ? 1 : 97;
    if (!every) board.program += 1, board.n = 1;
  }
  std::printf(
      "%d programs, %llu runs, a fault in %llu: %llu ended well, %llu in RESOURCE_EXHAUSTED, %llu threw std::bad_alloc "
      "to the caller, "
      "%llu in another error, %llu deaths\n",
      count, static_cast<unsigned long long>(board.runs), static_cast<unsigned long long>(board.fired),
      static_cast<unsigned long long>(board.well), static_cast<unsigned long long>(board.exhausted),
      static_cast<unsigned long long>(board.thrown), static_cast<unsigned long long>(board.wrong),
      static_cast<unsigned long long>(died));
  std::error_code failed;
  if (chdir("/") == 0) std::filesystem::remove_all(folder, failed);
  return died + board.wrong + board.thrown > 0 ? 1 : 0;
}
