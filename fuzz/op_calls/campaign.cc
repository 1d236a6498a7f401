#include "fuzz/op_calls/campaign.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <set>
#include <thread>

#include "argosy/base/sanitizers.h"
#include "argosy/ops/ops.h"
#include "fuzz/op_calls/draw_call.h"
#include "fuzz/op_calls/operator_new.h"

namespace argosy::op_calls {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kMostAtOnce = 256 << 20;
constexpr std::uint64_t kCallsPerProcess = 20000;

std::int64_t now_ns() { return Clock::now().time_since_epoch().count(); }

std::span<const RecordedCase> cases_of(const Recorded& recorded, const std::string& op) {
  const auto found = recorded.find(op);
  return found != recorded.end() ? std::span<const RecordedCase>(found->second) : std::span<const RecordedCase>();
}

// The first line of a finding, without numbers: two of one text are one finding.
std::string kind_of(const std::string& op, const std::string& what) {
  std::string key = op + ": ";
  for (const char c : what.substr(0, std::min(what.find('\n'), std::size_t{60}))) {
    if (!std::isdigit(static_cast<unsigned char>(c)) && c != '-') key += c;
  }
  return key;
}

struct Shared {
  std::shared_ptr<DeviceSet> device_set;
};

std::shared_ptr<DeviceSet> make_device_set() {
  auto device_set = DeviceSet::make({.devices = "cpu:0", .memory = "cpu:0=64MiB", .cpu_threads = 2});
  if (!device_set.ok()) device_set = DeviceSet::make({.cpu_threads = 2});
  ARGOSY_CHECK(device_set.ok());
  const auto here = FilePolicy::within({"."});
  if (here.ok()) (*device_set)->set_files(*here);
  return *device_set;
}

void make_call(const OpDef& op, int index, std::uint64_t seed, bool session_too, const Recorded& recorded,
               SharedProgress& progress, Shared& shared, const Complain& complain) {
  const auto call = draw_call(op, seed, cases_of(recorded, op.name));
  OpCounts& counts = progress.counts[index];
  ++counts.calls;
  const auto guarded = [&](auto make) {
    Outcome outcome;
    try {
      outcome = make();
    } catch (const std::exception& e) {
      complain(str_cat("exception: ", e.what()));
    }
    if (const std::size_t refused = HostMemory::take_refused(); refused > 0)
      complain(str_cat("memory: ", refused, " bytes of operator new asked for"));
    if (!outcome.status.ok()) progress.note_message(index, outcome.status.message());
    return outcome;
  };
  Outcome outcome;
  progress.in_session = false;
  if (!call->needs_graph()) {
    progress.started_ns = now_ns();
    outcome = guarded([&] { return run_on_kernels(*call, complain); });
  }
  if (session_too || call->needs_graph()) {
    progress.in_session = true;
    progress.sessions.fetch_add(1);
    progress.started_ns = now_ns();
    if (!shared.device_set) shared.device_set = make_device_set();
    const Outcome in_graph = guarded([&] { return run_in_session(*call, shared.device_set, complain); });
    if (in_graph.stage > outcome.stage) outcome = in_graph;
  }
  ++counts.stages[static_cast<int>(outcome.stage)];
  const std::int64_t took = now_ns() - progress.started_ns;
  if (took > progress.longest_ns) progress.longest_ns = took;
  progress.started_ns = 0;
  progress.done.fetch_add(1);
}

struct Work {
  std::vector<int> ops;  // positions in the registry
  std::uint64_t seed = 1;
  std::uint64_t next = 0;  // call number: op next % ops, seed + next / ops
};

// In a process of its own: calls until so many are done. Findings go to `out`, a line each, a newline as \x01.
[[noreturn]] void make_calls(const CampaignOptions& options, const Work& work, std::uint64_t count,
                             const Recorded& recorded, SharedProgress& progress, std::atomic<std::uint64_t>& next,
                             int out) {
  HostMemory::limit(kMostAtOnce);
#if !defined(ARGOSY_ASAN) && !defined(ARGOSY_TSAN)  // whose shadow memory needs the addresses
  const rlimit memory{std::size_t{6} << 30, std::size_t{6} << 30};
  setrlimit(RLIMIT_AS, &memory);
#endif
  const rlimit core{0, 0};
  setrlimit(RLIMIT_CORE, &core);
  const rlimit file{64 << 20, 64 << 20};
  setrlimit(RLIMIT_FSIZE, &file);
  signal(SIGXFSZ, SIG_IGN);
  Shared shared;
  for (std::uint64_t k = 0; k < count; ++k) {
    const std::uint64_t n = work.next + k;
    const int index = work.ops[n % work.ops.size()];
    const OpDef& op = *builtin_ops().all()[static_cast<std::size_t>(index)];
    const std::uint64_t seed = work.seed + n / work.ops.size();
    next = n + 1;
    progress.op = index;
    progress.seed = seed;
    const auto complain = [&](const std::string& what) {
      std::string line = what.substr(0, 2000);
      std::replace(line.begin(), line.end(), '\n', '\x01');
      line = str_cat(op.name, " ", seed, " ", progress.in_session ? 1 : 0, " ", line, "\n");
      if (write(out, line.data(), line.size()) < 0) std::abort();
    };
    const bool session =
        options.in_session > 0 &&
        (seed * 31 + static_cast<std::uint64_t>(index)) % static_cast<std::uint64_t>(options.in_session) == 0;
    make_call(op, index, seed, session, recorded, progress, shared, complain);
  }
  _exit(0);
}

std::string tail_of(int file) {
  std::string text(1 << 16, '\0');
  const off_t size = lseek(file, 0, SEEK_END);
  const ssize_t got = pread(file, text.data(), text.size(), std::max<off_t>(0, size - static_cast<off_t>(text.size())));
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

// What a process that died says for itself: the line that tells why comes first.
std::string last_words(int errors, int status, bool hung) {
  const std::string said = tail_of(errors);
  std::string first = hung                  ? "hang"
                      : WIFSIGNALED(status) ? str_cat("crash: signal ", strsignal(WTERMSIG(status)))
                                            : str_cat("exit ", WEXITSTATUS(status));
  for (const char* mark :
       {"runtime error:", "check failed:", "ERROR: AddressSanitizer:", "what():", "SUMMARY:", "Assertion"}) {
    const std::size_t at = said.find(mark);
    if (at == said.npos) continue;
    const std::size_t begin = said.rfind('\n', at) + 1;
    first += ": " + said.substr(begin, std::min(said.find('\n', at), begin + 240) - begin);
    break;
  }
  return first + "\n" + (said.size() > 6000 ? said.substr(0, 6000) : said);
}

class Campaign {
 public:
  Campaign(const CampaignOptions& options, const Recorded& recorded, SharedProgress& progress)
      : options_(options), recorded_(recorded), progress_(progress), began_(Clock::now()) {}

  std::vector<Finding> run() {
    Work work{.seed = options_.seed};
    const auto& all = builtin_ops().all();
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (options_.only.empty() || all[i]->name == options_.only) work.ops.push_back(static_cast<int>(i));
    }
    while (!work.ops.empty() && work.next < options_.calls && !over() && findings_.size() < options_.most_findings)
      work.next = run_process(work);
    std::vector<Finding> list;
    for (auto& [kind, finding] : findings_) list.push_back(std::move(finding));
    return list;
  }

 private:
  bool over() const {
    return options_.seconds > 0 && std::chrono::duration<double>(Clock::now() - began_).count() > options_.seconds;
  }

  void add(Finding f) {
    const std::string kind = kind_of(f.op, f.what);
    const auto [found, fresh] = findings_.try_emplace(kind, f);
    if (!fresh) {
      ++found->second.times;
      return;
    }
    const OpDef* op = builtin_ops().find(f.op);
    std::printf("FINDING %s\n  --op %s --seed %llu%s\n  %s\n", f.what.c_str(), f.op.c_str(),
                static_cast<unsigned long long>(f.seed), f.in_session ? " --in-session" : "",
                op != nullptr ? draw_call(*op, f.seed, cases_of(recorded_, f.op))->describe().c_str() : "");
    std::fflush(stdout);
  }

  // The number of the next call.
  std::uint64_t run_process(const Work& work) {
    const int errors = memfd_create("errors", 0), complaints = memfd_create("complaints", 0);
    void* const memory =
        mmap(nullptr, sizeof(std::atomic<std::uint64_t>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ARGOSY_CHECK(errors >= 0 && complaints >= 0 && memory != MAP_FAILED);
    auto& next = *new (memory) std::atomic<std::uint64_t>(work.next);
    progress_.started_ns = 0;
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
      dup2(errors, 2);
      const int nothing = open("/dev/null", O_WRONLY);
      dup2(nothing, 1);  // Print and its like
      make_calls(options_, work, std::min(kCallsPerProcess, options_.calls - work.next), recorded_, progress_, next,
                 complaints);
    }
    bool hung = false, stopped = false;
    int status = 0;
    while (waitpid(child, &status, WNOHANG) == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      const std::int64_t started = progress_.started_ns;
      if (started != 0 && !hung && static_cast<double>(now_ns() - started) > options_.longest_seconds * 1e9) {
        hung = true;
        kill(child, SIGABRT);
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        kill(child, SIGKILL);
      }
      if (over() && !stopped && !hung) stopped = true, kill(child, SIGKILL);
    }
    read_complaints(complaints);
    if (!stopped && (hung || !WIFEXITED(status) || WEXITSTATUS(status) != 0)) {
      const int op = progress_.op;
      add({.op = op >= 0 ? builtin_ops().all()[static_cast<std::size_t>(op)]->name : "",
           .what = last_words(errors, status, hung),
           .seed = progress_.seed,
           .in_session = progress_.in_session});
    }
    const std::uint64_t after = next;
    close(errors);
    close(complaints);
    munmap(memory, sizeof(std::atomic<std::uint64_t>));
    return after;
  }

  void read_complaints(int file) {
    lseek(file, 0, SEEK_SET);
    std::string text, part(1 << 16, '\0');
    for (ssize_t got = 0; (got = read(file, part.data(), part.size())) > 0;)
      text.append(part, 0, static_cast<std::size_t>(got));
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      const std::string line = text.substr(at, end - at);
      at = end + 1;
      const std::size_t a = line.find(' '), b = line.find(' ', a + 1);
      if (b == line.npos || b + 3 > line.size()) continue;
      std::string what = line.substr(b + 3);
      std::replace(what.begin(), what.end(), '\x01', '\n');
      add({.op = line.substr(0, a),
           .what = what,
           .seed = std::strtoull(line.c_str() + a, nullptr, 10),
           .in_session = line[b + 1] == '1'});
    }
  }

  const CampaignOptions options_;
  const Recorded& recorded_;
  SharedProgress& progress_;
  const Clock::time_point began_;
  std::map<std::string, Finding> findings_;
};

}  // namespace

std::vector<Finding> run_campaign(const CampaignOptions& options, const Recorded& recorded, SharedProgress& progress) {
  return Campaign(options, recorded, progress).run();
}

int run_here(const CampaignOptions& options, const Recorded& recorded, SharedProgress& progress) {
  HostMemory::limit(kMostAtOnce);
  Shared shared;
  int findings = 0;
  const auto began = Clock::now();
  const auto& all = builtin_ops().all();
  for (std::uint64_t n = 0; n < options.calls; ++n) {
    if (options.seconds > 0 && std::chrono::duration<double>(Clock::now() - began).count() > options.seconds) break;
    const auto index = static_cast<std::size_t>(n % all.size());
    const std::uint64_t seed = options.seed + n / all.size();
    if (all[index]->name == "Abort") continue;
    const auto complain = [&](const std::string& what) {
      ++findings;
      std::printf("FINDING %s\n  --op %s --seed %llu\n", what.c_str(), all[index]->name.c_str(),
                  static_cast<unsigned long long>(seed));
    };
    // Where a tool reports something, the last of these lines says during which call.
    std::fprintf(stderr, "%s %llu\n", all[index]->name.c_str(), static_cast<unsigned long long>(seed));
    const bool session = options.in_session > 0 && n % static_cast<std::uint64_t>(options.in_session) == 0;
    make_call(*all[index], static_cast<int>(index), seed, session, recorded, progress, shared, complain);
  }
  return findings;
}

int replay(const std::string& name, std::uint64_t seed, int times, bool in_session, const Recorded& recorded) {
  const OpDef* const op = builtin_ops().find(name);
  if (op == nullptr) {
    std::fprintf(stderr, "there is no op %s\n", name.c_str());
    return 2;
  }
  HostMemory::limit(kMostAtOnce);
  int complaints = 0;
  const auto device_set = make_device_set();
  const auto complain = [&](const std::string& what) {
    ++complaints;
    std::printf("FINDING %s\n", what.c_str());
  };
  for (int k = 0; k < times; ++k) {
    const auto call = draw_call(*op, seed + static_cast<std::uint64_t>(k), cases_of(recorded, name));
    std::printf("%s\n", call->describe().c_str());
    std::fflush(stdout);
    const bool graph = in_session || call->needs_graph();
    const Outcome outcome = graph ? run_in_session(*call, device_set, complain) : run_on_kernels(*call, complain);
    std::printf("stage %d: %s\n", static_cast<int>(outcome.stage), outcome.status.to_string().c_str());
    std::fflush(stdout);
  }
  _exit(complaints > 0 ? 1 : 0);
}

void print_coverage(const SharedProgress& progress, bool every_op) {
  const auto& all = builtin_ops().all();
  std::uint64_t calls = 0, stages[kStages] = {};
  std::string never;
  int through = 0, tried = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const OpCounts& c = progress.counts[i];
    if (c.calls == 0) continue;
    ++tried;
    calls += c.calls;
    for (int s = 0; s < kStages; ++s) stages[s] += c.stages[s];
    if (c.stages[kStages - 1] > 0) {
      ++through;
    } else {
      never += " " + all[i]->name;
    }
    if (every_op)
      std::printf("%-44s %8llu calls, refused: %llu attributes, %llu shape, %llu kernel, %llu run; %llu through\n",
                  all[i]->name.c_str(), static_cast<unsigned long long>(c.calls),
                  static_cast<unsigned long long>(c.stages[0]), static_cast<unsigned long long>(c.stages[1]),
                  static_cast<unsigned long long>(c.stages[2]), static_cast<unsigned long long>(c.stages[3]),
                  static_cast<unsigned long long>(c.stages[4]));
  }
  std::printf(
      "%llu calls of %d ops (%llu also in sessions); refused: %llu by attributes or dtypes, %llu by shape functions, "
      "%llu by kernels' "
      "makers, %llu by kernels; %llu ran through, of %d ops\n",
      static_cast<unsigned long long>(calls), tried, static_cast<unsigned long long>(progress.sessions.load()),
      static_cast<unsigned long long>(stages[0]), static_cast<unsigned long long>(stages[1]),
      static_cast<unsigned long long>(stages[2]), static_cast<unsigned long long>(stages[3]),
      static_cast<unsigned long long>(stages[4]), through);
  std::printf("%d error branches reached (errors of one op told apart by their words)\n", progress.distinct.load());
  std::printf("longest call: %.2f s\n", static_cast<double>(progress.longest_ns.load()) * 1e-9);
  std::printf("never ran through (%d):%s\n", tried - through, never.c_str());
}

}  // namespace argosy::op_calls
