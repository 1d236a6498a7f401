#include "argosy/train/verdict.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace argosy {

namespace {

std::string fixed(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

std::string percent(double part) { return fixed(100 * part, 0) + " %"; }

}  // namespace

void ShareMeter::add(const StepStats& stats, double input_seconds) {
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

TimeShares ShareMeter::shares() const {
  if (total_ <= 0) return {};
  TimeShares s{.compute = compute_ / total_,
               .all_reduce = collective_ / total_,
               .input = input_ / total_,
               .copies = copies_ / total_};
  s.overhead = std::max(0.0, 1 - s.compute - s.all_reduce - s.input - s.copies);
  return s;
}

void conclude(ScalingVerdict& v, std::int64_t largest_batch, int input_threads) {
  const TimeShares& s = v.shares;
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
  // What does not grow with the batch is paid once per step: twice the batch halves it per sample.
  const double fixed_part = s.all_reduce + s.overhead;
  const double larger_batch = 1 / (1 - fixed_part / 2);
  const bool fits = largest_batch == 0 || 2 * v.batch <= largest_batch;
  if (v.devices > 1 && v.one_device_samples_per_second > v.samples_per_second) {
    v.predicted_gain = v.one_device_samples_per_second / v.samples_per_second;
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

std::string ScalingVerdict::to_string() const {
  std::string text = str_cat("verdict  ", devices, devices == 1 ? " device: " : " devices: ",
                             fixed(samples_per_second, samples_per_second < 100 ? 1 : 0), " samples/s");
  if (one_device_samples_per_second > 0 && devices > 1) {
    text += str_cat("   (1 device: ", fixed(one_device_samples_per_second, one_device_samples_per_second < 100 ? 1 : 0),
                    ")   ", fixed(speedup(), 2), "x of ", fixed(ideal, 2), "x, efficiency ", percent(efficiency()));
  }
  if (bound == "unknown") return text + str_cat("\n  bound   unknown\n  try     ", advice, "\n");
  text += str_cat("\n  bound   compute ", percent(shares.compute), "  all-reduce ", percent(shares.all_reduce),
                  "  input ", percent(shares.input), "  copies ", percent(shares.copies), "  overhead ",
                  percent(shares.overhead), "\n  try     ", advice, "\n");
  return text;
}

}  // namespace argosy
