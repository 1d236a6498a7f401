#include "argosy/train/report/verdict.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>

namespace argosy {

namespace {

std::string fixed(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

std::string percent(double part) { return fixed(100 * part, 0) + " %"; }

}  // namespace

void TimeBreakdownMeter::add(const StepStats& stats, double input_seconds) {
  const double step = static_cast<double>(stats.end_nanos - stats.start_nanos) * 1e-9;
  int counted = 0;
  double compute = 0, collective = 0, copies = 0;
  for (const StepStats::PerDevice& d : stats.devices) {
    if (std::find(devices_.begin(), devices_.end(), d.device) == devices_.end()) continue;
    compute += static_cast<double>(d.compute_nanos) * 1e-9;
    collective += static_cast<double>(d.collective_nanos) * 1e-9;
    copies += static_cast<double>(d.copy_nanos) * 1e-9;
    ++counted;
  }
  if (counted == 0 || step <= 0) return;
  compute_ += compute / counted;
  collective_ += collective / counted;
  copies_ += copies / counted;
  input_ += input_seconds;
  total_ += step + input_seconds;
  ++steps_;
}

TimeBreakdown TimeBreakdownMeter::breakdown() const {
  if (total_ <= 0) return {};
  TimeBreakdown s{.compute = compute_ / total_,
                  .all_reduce = collective_ / total_,
                  .input = input_ / total_,
                  .copies = copies_ / total_};
  s.overhead = std::max(0.0, 1 - s.compute - s.all_reduce - s.input - s.copies);
  return s;
}

namespace {

std::string rate(double value) { return fixed(value, value < 100 ? 1 : 0); }

std::string with_spread(const Range& r) {
  return str_cat(rate(r.middle), " (", rate(r.low), " to ", rate(r.high), ")");
}

// Says why the run and the comparison after it cannot both be correct; "" if they can. The comparison has no waits for
// input, so those of the run are subtracted.
std::string contradiction(const ScalingVerdict& v) {
  constexpr double kFaster = 1.25;  // than all rounds of the same steps
  const Comparison& c = *v.interleaved;
  const double without_input = v.samples_per_second / std::max(1e-9, 1 - v.breakdown.input);
  if (v.samples_per_second > kFaster * c.many.high) {
    return str_cat("it contradicts itself: the run made ", rate(v.samples_per_second),
                   " samples/s, the same steps after it at most ", rate(c.many.high));
  }
  if (c.speedup.low > 1 && without_input < c.one.low) {
    return str_cat("it contradicts itself: the run made ", rate(v.samples_per_second),
                   " samples/s, the same steps after it ", with_spread(c.many), ", and one device ",
                   with_spread(c.one));
  }
  return "";
}

}  // namespace

void conclude(ScalingVerdict& v, std::int64_t largest_batch, int input_threads) {
  std::string why = disturbed(v.use, v.cores, v.seconds);
  if (!why.empty()) why += " during the run";
  if (why.empty() && v.interleaved) why = v.interleaved->not_measured;
  if (why.empty() && v.interleaved && v.samples_per_second > 0) why = contradiction(v);
  if (!why.empty()) {
    v.not_measured = why;
    v.bound = "unknown";
    v.advice.clear();
    return;
  }
  const TimeBreakdown& s = v.breakdown;
  const std::array<std::pair<double, const char*>, 5> parts = {{{s.compute, "compute"},
                                                                {s.all_reduce, "all-reduce"},
                                                                {s.input, "input"},
                                                                {s.copies, "copies"},
                                                                {s.overhead, "overhead"}}};
  const auto largest = std::max_element(parts.begin(), parts.end());
  if (largest->first <= 0) {
    v.bound = "unknown";
    v.advice = "--steps 20, or more: too few steps to see where the time goes";
    return;
  }
  v.bound = largest->second;
  // Costs that do not grow with the batch are paid once per step. Twice the batch halves them per example.
  const double fixed_part = s.all_reduce + s.overhead;
  const double larger_batch = 1 / (1 - fixed_part / 2);
  const bool fits = largest_batch == 0 || 2 * v.batch <= largest_batch;
  if (v.interleaved && v.interleaved->speedup.high < 1) {
    v.predicted_gain = 1 / v.interleaved->speedup.middle;
    v.advice = str_cat("--devices 1 (measured ", fixed(v.predicted_gain, 2), "x of now), or ");
    v.advice += fits ? str_cat("--batch ", 2 * v.batch, " (predicted ", fixed(larger_batch, 2), "x)")
                     : std::string("a larger model");
  } else if (s.input > 0.1) {
    v.predicted_gain = 1 / (1 - s.input);
    v.advice = str_cat("--input-threads ", 2 * input_threads, " (predicted up to ", fixed(v.predicted_gain, 2), "x)");
  } else if (fixed_part > 0.05 && fits) {
    v.predicted_gain = larger_batch;
    v.advice = str_cat("--batch ", 2 * v.batch, " (predicted ", fixed(larger_batch, 2), "x)");
  } else if (fixed_part > 0.05) {
    v.advice = str_cat("more memory per device: --batch ", 2 * v.batch, " would bring ", fixed(larger_batch, 2),
                       "x and does not fit");
  } else {
    v.advice = "nothing: the devices compute nearly all the time";
  }
}

double ScalingVerdict::on_tasks(int other) const {
  const TimeBreakdown& s = breakdown;
  const double scales = s.compute + s.input + s.copies;
  if (other < 1 || scales + s.all_reduce + s.overhead <= 0) return std::numeric_limits<double>::quiet_NaN();
  const auto travels = [](int n) { return static_cast<double>(n - 1) / n; };
  // With one task, nothing is sent over the network, and the time of sums over several tasks is not known.
  const double sums = tasks > 1 ? s.all_reduce * travels(other) / travels(tasks) : s.all_reduce;
  return 1 / (scales * tasks / other + sums + s.overhead);
}

int ScalingVerdict::straggler() const {
  if (on_network.size() < 2) return -1;
  const auto least = std::min_element(on_network.begin(), on_network.end());
  double others = 0;
  for (const double share : on_network) others += share;
  others = (others - *least) / static_cast<double>(on_network.size() - 1);
  return others - *least > kWaits ? static_cast<int>(least - on_network.begin()) : -1;
}

double ScalingVerdict::speedup() const {
  if (devices == 1) return 1;
  return interleaved && not_measured.empty() ? interleaved->speedup.middle : std::numeric_limits<double>::quiet_NaN();
}

std::string ScalingVerdict::to_string() const {
  std::string text = str_cat("verdict  ", devices, devices == 1 ? " device: " : " devices: ", rate(samples_per_second),
                             " samples/s\n");
  if (tasks > 1 && std::isfinite(on_tasks(2 * tasks))) {
    text += str_cat("  hosts   ", tasks, " tasks: ", percent(breakdown.all_reduce), " of a step waits for sums; ",
                    2 * tasks, " tasks would give ", fixed(on_tasks(2 * tasks), 2), "x, ", tasks / 2,
                    tasks / 2 == 1 ? " task " : " tasks ", fixed(on_tasks(tasks / 2), 2), "x (predicted)\n");
  }
  if (const int slowest = straggler(); slowest >= 0) {
    const double own = on_network[static_cast<std::size_t>(slowest)];
    double all = 0;
    for (const double share : on_network) all += share;
    text +=
        str_cat("  waits   for task ", slowest, ", which is on the network ", percent(own), " of the time, the others ",
                percent((all - own) / static_cast<double>(on_network.size() - 1)), "\n");
  }
  if (!not_measured.empty()) {
    text += str_cat("  not measured: ", not_measured, "\n");
  } else if (interleaved) {
    const Range& s = interleaved->speedup;
    text += str_cat("  in turn 1 device ", with_spread(interleaved->one), ", ", devices, " devices ",
                    with_spread(interleaved->many), " in ", interleaved->rounds, " rounds: ", fixed(s.middle, 2), "x (",
                    fixed(s.low, 2), "x to ", fixed(s.high, 2), "x)");
    text += emulated ? str_cat("\n  cores   emulated GPUs share this machine's ", fixed(cores, 0),
                               " cores: ", fixed(s.middle, 2), "x is what the cores gave, and says nothing of GPUs\n")
                     : str_cat(" of ", fixed(ideal, 2), "x, efficiency ", percent(efficiency()), "\n");
  }
  if (advice.empty()) return text;
  if (bound == "unknown") return text + str_cat("  bound   unknown\n  try     ", advice, "\n");
  text += str_cat("  bound   compute ", percent(breakdown.compute), "  all-reduce ", percent(breakdown.all_reduce),
                  "  input ", percent(breakdown.input), "  copies ", percent(breakdown.copies), "  overhead ",
                  percent(breakdown.overhead), "\n  try     ", advice, "\n");
  return text;
}

}  // namespace argosy
