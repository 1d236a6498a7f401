#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

#include "argosy/cluster/check/pair_check.h"
#include "argosy/cluster/environment/find_place.h"
#include "argosy/cluster/join_job.h"
#include "tools/argosy/cli/command.h"
#include "tools/argosy/cli/console.h"
#include "tools/argosy/cli/count_of.h"
#include "tools/argosy/cli/exit_code.h"
#include "tools/argosy/cli/table.h"
#include "tools/argosy/version.h"

namespace argosy::cli {

namespace {

struct Options {
  PlaceFlags place;
  std::optional<int> start_timeout;
  std::vector<std::string> insecure_networks;
};

std::string fixed(double value, const char* format) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string pairs_text(const std::vector<PairFacts>& pairs, const std::vector<JobTask>& tasks,
                       const std::vector<std::string>& bad) {
  std::vector<std::vector<std::string>> rows = {{"from", "to", "round trip", "rate", "clock"}};
  const auto name = [&](int rank) { return str_cat(rank, " ", tasks[static_cast<std::size_t>(rank)].host); };
  for (const PairFacts& p : pairs) {
    if (!p.error.empty()) {
      rows.push_back({name(p.from), name(p.to), p.error, "", ""});
      continue;
    }
    rows.push_back({name(p.from), name(p.to), fixed(p.round_trip_seconds * 1e6, "%.0f us"),
                    fixed(p.bytes_per_second / 1e9, "%.2f GB/s"), fixed(p.clock_seconds * 1e3, "%+.1f ms")});
  }
  std::string text = format_table(rows);
  for (const std::string& line : bad) text += str_cat("bad   ", line, "\n");
  if (bad.empty())
    text += str_cat(count_of(static_cast<std::int64_t>(pairs.size()), "pair"), ": every task reaches every other\n");
  return text;
}

std::string pairs_json(const std::vector<PairFacts>& pairs, const std::vector<JobTask>& tasks,
                       const std::vector<std::string>& bad) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array(), who = nlohmann::ordered_json::array();
  for (const JobTask& task : tasks)
    who.push_back({{"task", task.rank}, {"host", task.host}, {"address", task.address}});
  for (const PairFacts& p : pairs) {
    rows.push_back({{"from", p.from},
                    {"to", p.to},
                    {"round_trip_seconds", p.round_trip_seconds},
                    {"bytes_per_second", p.bytes_per_second},
                    {"clock_seconds", p.clock_seconds},
                    {"error", p.error}});
  }
  return nlohmann::ordered_json{
             {"schema_version", 1}, {"version", build_info().version}, {"tasks", who}, {"pairs", rows}, {"bad", bad}}
             .dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) +
         "\n";
}

Result<int> run(const Options& options, Console& console) {
  ARGOSY_ASSIGN_OR_RETURN(const JobPlace place, find_place(process_environment(), options.place));
  if (place.size == 1) {
    return invalid_argument("one task has nobody to reach: ", describe(place))
        .with_id("ARG-CLUSTER-055")
        .with_where("argosy cluster check")
        .with_hint("argosy launch -H gpu-a,gpu-b -- argosy cluster check");
  }
  console.note(describe(place));
  JoinOptions join{.place = place,
                   .devices = {},
                   .version = build_info().version,
                   .program = {{"command", "cluster check"}},
                   .insecure_networks = options.insecure_networks,
                   .note = [&console](std::string_view line) { console.note(line); }};
  if (options.start_timeout) join.start_timeout = std::chrono::seconds(*options.start_timeout);
  ARGOSY_ASSIGN_OR_RETURN(const JobToken token, JobToken::parse(place.token));
  ARGOSY_ASSIGN_OR_RETURN(const std::unique_ptr<JobTasks> job, join_job(join));
  std::vector<std::string> networks = options.insecure_networks;
  networks.insert(networks.end(), place.insecure_networks.begin(), place.insecure_networks.end());
  auto pairs = check_pairs(*job, token, networks);
  if (!pairs.ok()) return job->fail(pairs.status());
  const std::vector<JobTask> tasks = job->tasks();
  ARGOSY_RETURN_IF_ERROR(job->leave());
  if (place.rank != 0) return kDone;
  const std::vector<std::string> bad = bad_pairs(*pairs, tasks);
  console.print(console.json() ? pairs_json(*pairs, tasks, bad) : pairs_text(*pairs, tasks, bad));
  return bad.empty() ? kDone : kFailed;
}

}  // namespace

void define_cluster_check(Command& cluster) {
  Command& command = cluster.add("check", "Round trip, rate and clock of every pair of tasks");
  auto& options = command.own<Options>();
  command
      .option("--rank N", options.place.rank, "which task this is, where no launcher says it",
              {.least = 0, .most = 1e6})
      .option("--tasks N", options.place.size, "how many there are", {.least = 1, .most = 1e6})
      .option("--coordinator HOST:PORT", options.place.coordinator, "where task 0 listens")
      .option("--start-timeout S", options.start_timeout, "seconds until all tasks must be there (default: 300)",
              {.least = 1, .most = 86400})
      .option("--insecure-cluster NET", options.insecure_networks,
              "a network (10.0.0.0/8) whose tasks are let in without certificate; may be repeated")
      .json()
      .about(
          "Every task runs it: under argosy launch, srun or mpirun, or by hand with --rank, --tasks and --coordinator. "
          "Task 0 prints the table. Exit code 1: a pair fails, is under half the median rate, or has clocks over 1 s "
          "apart.")
      .example("argosy launch -H gpu-a,gpu-b -- argosy cluster check", "by ssh on both hosts")
      .example("argosy cluster check --rank 1 --tasks 2 --coordinator gpu-a:29500", "by hand, on the second of two")
      .runs([&options](Console& console) { return run(options, console); });
}

}  // namespace argosy::cli
