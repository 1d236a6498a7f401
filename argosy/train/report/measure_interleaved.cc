#include "argosy/train/report/measure_interleaved.h"

#include <algorithm>
#include <cmath>

#include "argosy/base/clock.h"
#include "argosy/base/threads/parallel.h"

namespace argosy {

namespace {

constexpr int kRounds = 7, kFewRounds = 3;  // the second: of steps that take long
constexpr double kRoundSeconds = 0.03;      // of each side at least: all rounds are many of the kernel's ticks
constexpr double kProbeSeconds = 3;         // no further round beyond

// Runs so many steps and returns the samples per second.
Result<double> rate_of(CompiledModel& program, const std::vector<Tensor>& feeds, std::int64_t batch,
                       std::int64_t steps) {
  const std::int64_t start = now_nanos();
  for (std::int64_t i = 0; i < steps; ++i) ARGOSY_RETURN_IF_ERROR(program.step(feeds).status());
  return static_cast<double>(batch * steps) / seconds_since(start);
}

}  // namespace

Result<Comparison> measure_interleaved(CompiledModel& alone, CompiledModel& all, const std::vector<Tensor>& feeds,
                                       std::int64_t batch, double ideal) {
  CompiledModel* const sides[] = {&alone, &all};
  std::int64_t steps[2] = {};
  double round_seconds = 0;
  for (int side = 0; side < 2; ++side) {
    ARGOSY_RETURN_IF_ERROR(rate_of(*sides[side], feeds, batch, 2).status());  // compiles, records
    ARGOSY_ASSIGN_OR_RETURN(const double rate, rate_of(*sides[side], feeds, batch, 1));
    const double seconds = static_cast<double>(batch) / rate;
    steps[side] = std::max<std::int64_t>(1, std::llround(kRoundSeconds / seconds));
    round_seconds += static_cast<double>(steps[side]) * seconds;
  }
  InterleavedRates measured{.cores = static_cast<double>(available_cores())};
  CoreUseMeter cores;
  const std::int64_t began = now_nanos();
  for (int round = 0; round < kRounds; ++round) {
    if (round >= kFewRounds && seconds_since(began) + round_seconds > kProbeSeconds) break;
    for (const int turn : {0, 1}) {
      const int side = (round + turn) % 2;
      ARGOSY_ASSIGN_OR_RETURN(const double rate, rate_of(*sides[side], feeds, batch, steps[side]));
      (side == 0 ? measured.one : measured.many).push_back(rate);
    }
  }
  measured.seconds = seconds_since(began);
  measured.use = cores.read();
  return compare(measured, ideal);
}

}  // namespace argosy
