#include "argosy/tf/server/service/stuck_steps.h"

#include "argosy/base/clock.h"

namespace argosy::tf {

namespace {

// A client's bytes, as Prometheus quotes them.
std::string quoted(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

void StuckSteps::add(Key key, const StuckStep& step) {
  MutexLock lock(mutex_);
  entries_.insert_or_assign(key, Entry{.step = {.step = step.step, .kernels = step.kernels, .since = {}, .status = {}},
                                       .over_at = now_nanos() - std::chrono::nanoseconds(step.since).count()});
  ++total_;
}

void StuckSteps::remove(Key key) {
  MutexLock lock(mutex_);
  entries_.erase(key);
}

int StuckSteps::now() const {
  MutexLock lock(mutex_);
  return static_cast<int>(entries_.size());
}

std::string StuckSteps::status_section() const {
  MutexLock lock(mutex_);
  if (entries_.empty()) return "";
  std::string text =
      str_cat("\n", entries_.size(),
              entries_.size() == 1 ? " step is over and does not end\n" : " steps are over and do not end\n");
  for (const auto& [key, entry] : entries_) {
    text += str_cat("  step ", entry.step.step, "  ", static_cast<std::int64_t>(seconds_since(entry.over_at)), " s  ",
                    entry.step.what(), "\n");
  }
  return text;
}

std::string StuckSteps::metrics_section() const {
  MutexLock lock(mutex_);
  std::string text =
      str_cat("# HELP argosy_stuck_steps Steps that are over and do not end.\n# TYPE argosy_stuck_steps gauge\n",
              "argosy_stuck_steps ", entries_.size(),
              "\n# HELP argosy_stuck_steps_total Steps that did not end in time after they were to.\n",
              "# TYPE argosy_stuck_steps_total counter\nargosy_stuck_steps_total ", total_,
              "\n# HELP argosy_stuck_kernel_seconds How long ago the step of a kernel was over.\n",
              "# TYPE argosy_stuck_kernel_seconds gauge\n");
  for (const auto& [key, entry] : entries_) {
    for (const RunningKernel& k : entry.step.kernels) {
      text += str_cat("argosy_stuck_kernel_seconds{step=\"", entry.step.step, "\",node=\"", quoted(k.node), "\",op=\"",
                      quoted(k.op), "\",device=\"", k.device, "\"} ", seconds_since(entry.over_at), "\n");
    }
  }
  return text;
}

}  // namespace argosy::tf
