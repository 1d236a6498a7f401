#include "tools/argosy/run_verdict.h"

#include <algorithm>
#include <cstdio>

#include "argosy/base/str.h"

namespace argosy::cli {

namespace {

std::string number(const char* format, double value) {
  char text[32];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string count(std::int64_t n, std::string_view what) { return str_cat(n, " ", what, n == 1 ? "" : "s"); }

// The one thing that would help most.
std::string advice(const tf::WorkTotals& totals, bool replicate, double busy, double seconds, double at_work) {
  std::string idle;
  int gpus = 0;
  for (const auto& d : totals.devices) {
    if (d.device.type != "GPU") continue;
    ++gpus;
    if (d.ops == 0) idle += str_cat(idle.empty() ? "" : ", ", d.device.short_string());
  }
  if (!idle.empty()) {
    const std::string pin = str_cat("tf.device('/", idle.substr(0, idle.find(',')), "') puts work there");
    if (!totals.not_replicated.empty()) {
      return str_cat(idle, " did nothing: the training step could not be replicated; ", pin);
    }
    if (totals.small_steps > 0) {
      return str_cat(idle, " did nothing: ", count(totals.small_steps, "training step"),
                     " had too few examples for every GPU to have one; larger batches would be shared");
    }
    if (replicate) return str_cat(idle, " did nothing: no step computes gradients and trains; ", pin);
    return str_cat(idle, " did nothing: no op asks for it; argosy run --replicate shares every batch among the GPUs, ",
                   pin);
  }
  if (busy < 0.5 * seconds) {
    return str_cat("the program spent ", number("%.0f", 100 * (1 - busy / seconds)),
                   " % of its time outside session.run: its own Python, not these devices, is what to look at");
  }
  if (at_work < 0.5 * std::max(gpus, 1)) {
    return "the devices wait for each other and for small steps: larger batches, or more work in one session.run, "
           "would help";
  }
  return "nothing: the devices compute most of the time";
}

}  // namespace

std::string run_verdict(const tf::WorkTotals& totals, bool replicate, double seconds) {
  if (totals.sessions == 0) {
    return "no TensorFlow session came here: the program opened none, or gave it a target of its own, or its Python "
           "ignores PYTHONPATH (-E, -I)";
  }
  const double busy = static_cast<double>(totals.busy_nanos) * 1e-9;
  std::string text = str_cat("ran  ", count(totals.sessions, "session"), ", ", count(totals.steps, "step"),
                             totals.failed_steps > 0 ? str_cat(", ", totals.failed_steps, " that failed") : "", ", ",
                             number("%.1f", busy), " s of the program's ", number("%.1f", seconds), " s");
  if (totals.steps == 0 || busy <= 0) return text;
  double compute = 0;
  std::string shares;
  for (const auto& d : totals.devices) {
    const double own = static_cast<double>(d.compute_nanos) * 1e-9;
    compute += own;
    shares +=
        str_cat(shares.empty() ? "     " : "   ", d.device.short_string(), " ", number("%.0f", 100 * own / busy), " %");
  }
  const double at_work = compute / busy;
  if (totals.replicated_steps > 0) {
    text += str_cat("\nreplicated  ", count(totals.replicated_steps, "step"), ": ", totals.replicas);
  }
  if (!totals.not_replicated.empty()) text += str_cat("\nnot replicated: ", totals.not_replicated);
  text += str_cat("\ncomputing, of that time\n", shares, "\n", number("%.2f", at_work),
                  " devices at work at a time; the same work on one, one after the other: ", number("%.1f", compute),
                  " s\nwhat would help: ", advice(totals, replicate, busy, seconds, at_work));
  return text;
}

}  // namespace argosy::cli
