// The result of a benchmark of `argosy bench`: rows of times or rates, each with the physical limit of this machine,
// measured in the same run. Also the declarations of all benchmarks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "argosy/base/threads/core_use.h"
#include "argosy/device/device.h"
#include "argosy/train/report/interleaved_rates.h"
#include "tools/argosy/cli/command.h"

namespace argosy::cli {

// Times repeated measurements of one thing; "min" and "median" of a rate are its best and its median.
struct BenchRow {
  std::string name, unit;
  double min = 0, median = 0;
  std::optional<double> limit = {};  // in the same unit: what the machine allows
};

struct BenchResult {
  std::string benchmark;
  std::vector<BenchRow> rows;
  std::optional<Comparison> compared = {};                         // several devices against one, in turn
  std::string disturbed = {};                                      // "other programs took 1.3 of 2 cores"; else ""
  std::vector<std::string> notes;                                  // lines for people: placement, verdicts
  std::vector<std::pair<std::string, std::int64_t>> figures = {};  // single numbers, for scripts
};

// Adds a subcommand of `argosy bench` that prints the result of `measure`, as a table or as JSON.
template <typename Options>
Command& add_benchmark(Command& bench, const std::string& name, const std::string& summary, Options*& options,
                       Result<BenchResult> (*measure)(const Options&, Console&));

Result<int> print_result(const BenchResult& result, Console& console);

// Measures whether other programs use the cores during its lifetime. Programs that this one starts do not count.
class BenchWatch {
 public:
  BenchWatch();
  std::string disturbed();  // as in interleaved_rates.h, so far

 private:
  CoreUseMeter cores_;
  std::int64_t began_;
  double children_;
};

// One per file bench_<name>.cc.
void add_bench_allreduce(Command& bench);
void add_bench_ckpt(Command& bench);
void add_bench_compile(Command& bench);
void add_bench_copy(Command& bench);
void add_bench_ensemble(Command& bench);
void add_bench_exec(Command& bench);
void add_bench_launch(Command& bench);
void add_bench_matpow(Command& bench);
void add_bench_model(Command& bench);
void add_bench_overlap(Command& bench);
void add_bench_sessions(Command& bench);
void add_bench_snapshot(Command& bench);
void add_bench_start(Command& bench);
void add_bench_tasks(Command& bench);
void add_bench_train(Command& bench);
void add_bench_virtual(Command& bench);  // bench_ensemble.cc

// The rate of oneDNN alone on float32 matrices of n x n: `workers` at once, each with a team of `cores_each`. GFLOP/s
// of all together. bench_matpow.cc.
Result<double> raw_matmul_rate(std::int64_t n, int workers, int cores_each);

template <typename Options>
Command& add_benchmark(Command& bench, const std::string& name, const std::string& summary, Options*& options,
                       Result<BenchResult> (*measure)(const Options&, Console&)) {
  Command& command = bench.add(name, summary);
  options = &command.own<Options>();
  Options* const given = options;
  command.json().runs([given, measure](Console& console) -> Result<int> {
    BenchWatch watch;
    ARGOSY_ASSIGN_OR_RETURN(BenchResult result, measure(*given, console));
    result.disturbed = watch.disturbed();
    return print_result(result, console);
  });
  return command;
}

}  // namespace argosy::cli
