// All-reduce between processes of this machine, over loopback: what a step of `argosy train` over tasks calls.
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <sstream>
#include <thread>

#include "argosy/base/clock.h"
#include "argosy/comm/net/spanning_group.h"
#include "tools/argosy/bench/bench.h"

namespace argosy::cli {

namespace {

struct Options {
  std::int64_t tasks = 2;
  std::int64_t mebibytes = 64;
  double seconds = 1;
};

// Tasks that meet in a folder.
NetAddressBook folder_book(const std::string& folder) {
  const auto file = [folder](std::string_view key) {
    std::string name(key);
    std::replace(name.begin(), name.end(), '/', '_');
    return folder + "/" + name;
  };
  return {.put =
              [file](std::string_view key, std::string_view value) {
                const std::string name = file(key);
                std::ofstream(name + ".part", std::ios::binary) << value;
                std::filesystem::rename(name + ".part", name);
                return ok_status();
              },
          .get = [file](std::string_view key, std::chrono::milliseconds timeout) -> Result<std::string> {
            const auto end = std::chrono::steady_clock::now() + timeout;
            while (!std::filesystem::exists(file(key))) {
              if (std::chrono::steady_clock::now() > end) return deadline_exceeded("nobody put ", key);
              std::this_thread::sleep_for(std::chrono::milliseconds(1));
            }
            std::ifstream in(file(key), std::ios::binary);
            std::ostringstream text;
            text << in.rdbuf();
            return text.str();
          }};
}

// One sum of this task's shard into `out`, as the kernel of a step asks for it.
Status sum(SpanningGroup& group, int rank, int tasks, const Tensor& in, const Tensor& out) {
  const Shard shard{rank, {&in, 1}};
  std::mutex mutex;
  std::condition_variable ended;
  bool over = false;
  Status status;
  const CollectiveCall call{
      .kind = Collective::kAllReduceShards, .total = tasks, .name = "bench", .out = {&out, 1}, .shards = {&shard, 1}};
  group.start(rank, call, [&](const Result<Event>& end) {
    const std::lock_guard lock(mutex);
    status = end.status();
    over = true;
    ended.notify_all();
  });
  std::unique_lock lock(mutex);
  ended.wait(lock, [&] { return over; });
  return status;
}

// The times of one size in seconds, those of the slowest task.
Result<std::vector<double>> times_of(NetGroup& net, SpanningGroup& group, std::size_t bytes, double seconds) {
  const Tensor in = Tensor::zeros(DType::kFloat32, {static_cast<std::int64_t>(bytes / sizeof(float))});
  const Tensor out = Tensor::zeros(DType::kFloat32, {static_cast<std::int64_t>(bytes / sizeof(float))});
  std::vector<double> times;
  const std::int64_t began = now_nanos();
  for (bool more = true; more;) {
    const int repeats = bytes < (1 << 16) ? 100 : bytes < (8 << 20) ? 10 : 1;
    ARGOSY_RETURN_IF_ERROR(net.barrier());
    const std::int64_t start = now_nanos();
    for (int i = 0; i < repeats; ++i) ARGOSY_RETURN_IF_ERROR(sum(group, net.rank(), net.size(), in, out));
    const Tensor time = Tensor::scalar(seconds_since(start) / repeats);
    ARGOSY_RETURN_IF_ERROR(net.all_reduce({&time, 1}, Reduction::kMax));
    times.push_back(*time.data<double>());
    const Tensor go = Tensor::scalar(std::int64_t{seconds_since(began) < seconds || times.size() < 5 ? 1 : 0});
    ARGOSY_RETURN_IF_ERROR(net.broadcast({&go, 1}, 0));
    more = *go.data<std::int64_t>() != 0;
  }
  times.erase(times.begin());  // it connects, and touches memory first
  std::sort(times.begin(), times.end());
  return times;
}

Result<std::vector<BenchRow>> run_task(int rank, const Options& options, const std::string& folder) {
  const int tasks = static_cast<int>(options.tasks);
  ARGOSY_ASSIGN_OR_RETURN(auto engine, open_gloo({.rank = rank,
                                                  .size = tasks,
                                                  .address = "127.0.0.1",
                                                  .group = "bench",
                                                  .book = folder_book(folder),
                                                  .timeout = std::chrono::seconds(60)}));
  const auto net = std::make_shared<NetGroup>(std::move(engine));
  std::vector<BenchRow> rows;
  std::uint32_t tag = 1;
  for (const std::size_t kib : {std::size_t{4}, std::size_t{1024}, static_cast<std::size_t>(options.mebibytes) << 10}) {
    SpanningGroup group(net, {.size = tasks, .first = rank, .here = 1, .tag = tag++});
    ARGOSY_ASSIGN_OR_RETURN(const std::vector<double> times, times_of(*net, group, kib << 10, options.seconds));
    rows.push_back({.name = str_cat("allreduce of ", format_bytes(kib << 10), " on ", tasks, " tasks"),
                    .unit = "us",
                    .min = times.front() * 1e6,
                    .median = times[times.size() / 2] * 1e6});
  }
  ARGOSY_RETURN_IF_ERROR(net->barrier());
  return rows;
}

Result<BenchResult> measure(const Options& options, Console&) {
  char path[] = "/tmp/argosy_bench_XXXXXX";
  if (mkdtemp(path) == nullptr) return unavailable("no temporary folder").with_id("ARG-FILE-001");
  const std::string folder = path;
  std::vector<pid_t> children;
  for (int rank = 1; rank < options.tasks; ++rank) {
    const pid_t child = fork();
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      _exit(run_task(rank, options, folder).ok() ? 0 : 1);
    }
    children.push_back(child);
  }
  auto rows = run_task(0, options, folder);
  for (const pid_t child : children) {
    if (!rows.ok()) kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
  }
  std::error_code error;
  std::filesystem::remove_all(folder, error);
  if (!rows.ok()) return std::move(rows).status();
  return BenchResult{.benchmark = "tasks",
                     .rows = *std::move(rows),
                     .notes = {"processes of this machine over loopback: the cores and their caches are shared"}};
}

}  // namespace

void add_bench_tasks(Command& bench) {
  Options* options = nullptr;
  Command& command = add_benchmark(bench, "tasks", "Sums over processes of this machine, by Gloo", options, measure);
  command.option("--tasks N", options->tasks, "how many processes", {.least = 1, .most = 64})
      .option("--mib N", options->mebibytes, "the largest size", {.least = 2, .most = 1024})
      .option("--seconds S", options->seconds, "measured for each size", {.least = 0})
      .example("argosy bench tasks --tasks 4", "4 KiB, 1 MiB and 64 MiB over four processes");
}

}  // namespace argosy::cli
