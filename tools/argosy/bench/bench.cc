#include "tools/argosy/bench/bench.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "argosy/base/clock.h"
#include "argosy/base/threads/parallel.h"
#include "tools/argosy/cli/console.h"
#include "tools/argosy/cli/exit_code.h"
#include "tools/argosy/cli/table.h"

namespace argosy::cli {

namespace {

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, value >= 100 ? "%.0f" : value >= 1 ? "%.2f" : "%.3f", value);
  return text;
}

// How near the best came to the limit: a time is at best the limit, a rate at most.
std::string nearness(const BenchRow& row) {
  if (!row.limit || row.min <= 0 || *row.limit <= 0) return "-";
  const bool rate = row.unit.ends_with("/s");
  return number(rate ? row.min / *row.limit : *row.limit / row.min);
}

// Seconds of cores that programs started here, and waited for, have used.
double children_seconds() {
  rusage use{};
  if (getrusage(RUSAGE_CHILDREN, &use) != 0) return 0;
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(use.ru_utime) + seconds(use.ru_stime);
}

nlohmann::ordered_json to_json(const Range& r) { return {{"low", r.low}, {"median", r.middle}, {"high", r.high}}; }

}  // namespace

BenchWatch::BenchWatch() : began_(now_nanos()), children_(children_seconds()) {}

std::string BenchWatch::disturbed() {
  const double seconds = seconds_since(began_);
  CoreUse use = cores_.read();
  use.others = std::max(0.0, use.others - (children_seconds() - children_) / std::max(seconds, 1e-9));
  return argosy::disturbed(use, available_cores(), seconds);
}

Result<int> print_result(const BenchResult& result, Console& console) {
  if (console.json()) {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const BenchRow& row : result.rows) {
      nlohmann::ordered_json one = {{"name", row.name}, {"unit", row.unit}, {"min", row.min}, {"median", row.median}};
      one["limit"] = row.limit ? nlohmann::ordered_json(*row.limit) : nlohmann::ordered_json(nullptr);
      rows.push_back(std::move(one));
    }
    nlohmann::ordered_json document = {{"schema_version", 1}, {"benchmark", result.benchmark}, {"rows", rows}};
    if (result.compared) {
      const Comparison& c = *result.compared;
      const bool measured = c.not_measured.empty();
      document["speedup"] = measured ? nlohmann::ordered_json(c.speedup.middle) : nlohmann::ordered_json(nullptr);
      document["not_measured"] = measured ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(c.not_measured);
      document["in_turn"] = {
          {"rounds", c.rounds}, {"one", to_json(c.one)}, {"many", to_json(c.many)}, {"speedup", to_json(c.speedup)}};
    }
    document["disturbed"] =
        result.disturbed.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(result.disturbed);
    for (const auto& [name, value] : result.figures) document[name] = value;
    console.print(document.dump(2) + "\n");
    return kDone;
  }
  std::vector<std::vector<std::string>> table = {{result.benchmark, "unit", "best", "median", "limit", "of limit"}};
  for (const BenchRow& row : result.rows) {
    table.push_back(
        {row.name, row.unit, number(row.min), number(row.median), row.limit ? number(*row.limit) : "-", nearness(row)});
  }
  console.print(format_table(table));
  for (const std::string& note : result.notes) console.print(note + "\n");
  if (result.compared && result.compared->not_measured.empty()) {
    const Range& s = result.compared->speedup;
    console.print(str_cat("speed-up ", number(s.middle), " x (", number(s.low), " to ", number(s.high), " in ",
                          result.compared->rounds, " rounds)\n"));
  } else if (result.compared) {
    console.print(str_cat("speed-up not measured: ", result.compared->not_measured, "\n"));
  }
  if (!result.disturbed.empty()) {
    console.print(str_cat("disturbed: ", result.disturbed, "; times are longer than this machine's own\n"));
  }
  return kDone;
}

void define_bench(Command& program) {
  Command& bench = program.add("bench", "Measure speed beside the limits of this machine");
  bench.about(
      "Every row stands beside its physical limit, measured in the same run. Others may use the machine: look at the "
      "best.");
  add_bench_matpow(bench);
  add_bench_start(bench);
  add_bench_tasks(bench);
  add_bench_train(bench);
  add_bench_model(bench);
  add_bench_ensemble(bench);
  add_bench_exec(bench);
  add_bench_launch(bench);
  add_bench_ckpt(bench);
  add_bench_snapshot(bench);
  add_bench_compile(bench);
  add_bench_copy(bench);
  add_bench_overlap(bench);
  add_bench_allreduce(bench);
  add_bench_virtual(bench);
  add_bench_sessions(bench);
}

}  // namespace argosy::cli
