#include "argosy/train/report/memory_check.h"

#include <algorithm>
#include <optional>

namespace argosy {

namespace {

struct Shortage {
  MemoryForecast forecast;
  std::uint64_t limit = 0, cap = 0;  // what the step may take of all
  DeviceSpec spec = {};
};

// Returns the device that lacks the most memory; nullopt: all have enough.
Result<std::optional<Shortage>> shortage(const DeviceSet& device_set, const ForecastOfBatch& forecast,
                                         std::int64_t batch) {
  ARGOSY_ASSIGN_OR_RETURN(const auto forecasts, forecast(batch));
  std::optional<Shortage> worst;
  for (const MemoryForecast& f : forecasts) {
    const int d = device_set.find(f.device);
    if (d < 0) continue;
    const DeviceSpec& spec = device_set.device(d).spec();
    const std::uint64_t cap = spec.memory_limit_bytes, limit = usable_bytes(spec);
    if (limit == 0 || f.total_bytes() <= limit) continue;
    if (!worst || f.total_bytes() - limit > worst->forecast.total_bytes() - worst->limit)
      worst = Shortage{f, limit, cap, spec};
  }
  return worst;
}

// Returns the largest memory of a device beside variables and constants.
std::uint64_t working_bytes(const std::vector<MemoryForecast>& forecasts) {
  std::uint64_t most = 0;
  for (const MemoryForecast& f : forecasts) most = std::max(most, f.arena_bytes + f.dynamic_bytes);
  return most;
}

constexpr std::int64_t kEvaluationBatch = 128;  // beyond it kernels gain little

}  // namespace

std::uint64_t usable_bytes(const DeviceSpec& spec) { return spec.memory_limit_bytes / 100 * 95; }

Result<std::int64_t> largest_batch(const DeviceSet& device_set, const ForecastOfBatch& forecast, std::int64_t limit) {
  std::int64_t fits = 0, too_large = limit + 1;
  // Forecasts grow with the batch: few probes suffice.
  while (too_large - fits > 1) {
    const std::int64_t middle = fits + (too_large - fits) / 2;
    ARGOSY_ASSIGN_OR_RETURN(const auto lacking, shortage(device_set, forecast, middle));
    (lacking ? too_large : fits) = middle;
  }
  return fits;
}

Status check_memory(const DeviceSet& device_set, const ForecastOfBatch& forecast, std::int64_t batch) {
  ARGOSY_ASSIGN_OR_RETURN(const auto lacking, shortage(device_set, forecast, batch));
  if (!lacking) return ok_status();
  const MemoryForecast& f = lacking->forecast;
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t best, largest_batch(device_set, forecast, batch - 1));
  std::vector<std::string> largest;
  for (const MemoryForecast::Tensor& t : f.largest) largest.push_back(str_cat(t.node, " ", format_bytes(t.bytes)));
  return resource_exhausted("batch ", batch, " does not fit: ", lacking->spec.said_name(), " needs ",
                            format_bytes(f.total_bytes()), " and may take ", format_bytes(lacking->limit), " of its ",
                            format_bytes(lacking->cap), " (variables ", format_bytes(f.variable_bytes),
                            ", activations and gradients ", format_bytes(f.arena_bytes), ", constants ",
                            format_bytes(f.constant_bytes), ", other ", format_bytes(f.dynamic_bytes),
                            "; largest at the peak: ", str_join(largest), ")")
      .with_id("ARG-MEM-002")
      .with_hint(best > 0 ? str_cat("--batch ", best, ", the largest that fits")
                          : str_cat("a smaller model, or more memory on ", lacking->spec.request_name(),
                                    " by --mem and --emulate: not even one example fits"));
}

Status check_memory(CompiledModel& program, std::int64_t batch) {
  const auto forecast = [&](std::int64_t examples) { return program.forecast(examples); };
  return check_memory(program.session().device_set(), forecast, batch);
}

Result<std::int64_t> evaluation_batch(CompiledModel& evaluator, CompiledModel* training, std::int64_t training_batch) {
  std::uint64_t most = UINT64_MAX;
  std::vector<MemoryForecast> of_training;
  if (training != nullptr) {
    ARGOSY_ASSIGN_OR_RETURN(of_training, training->step_forecast(training_batch));
    most = working_bytes(of_training);
  }
  std::int64_t batch = std::max(training_batch, kEvaluationBatch);
  for (; batch > training_batch; batch = std::max(batch / 2, training_batch)) {
    ARGOSY_ASSIGN_OR_RETURN(const auto forecasts, evaluator.forecast(batch));
    if (working_bytes(of_both_steps(of_training, forecasts)) <= most) break;
  }
  return batch;
}

}  // namespace argosy
