#include "tools/argosy/bench.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "tools/argosy/console.h"
#include "tools/argosy/exit_code.h"
#include "tools/argosy/table.h"

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

}  // namespace

Result<int> print_result(const BenchResult& result, Console& console) {
  if (console.json()) {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const BenchRow& row : result.rows) {
      nlohmann::ordered_json one = {{"name", row.name}, {"unit", row.unit}, {"min", row.min}, {"median", row.median}};
      one["limit"] = row.limit ? nlohmann::ordered_json(*row.limit) : nlohmann::ordered_json(nullptr);
      rows.push_back(std::move(one));
    }
    nlohmann::ordered_json document = {{"schema_version", 1}, {"benchmark", result.benchmark}, {"rows", rows}};
    if (result.speedup) document["speedup"] = *result.speedup;
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
  if (result.speedup) console.print(str_cat("speed-up ", number(*result.speedup), " x\n"));
  return kDone;
}

void define_bench(Command& program) {
  Command& bench = program.add("bench", "Measure speed beside the limits of this machine");
  bench.about(
      "Every row stands beside its physical limit, measured in the same run. Others may use the machine: look at the "
      "best.");
  add_bench_matpow(bench);
  add_bench_start(bench);
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
