#include "argosy/tf/server/replication/replica_totals.h"

#include <algorithm>

#include "argosy/planner/runners_up.h"

namespace argosy::tf {

namespace {

// The first name in single quotes that may be a node's: "the loss 'Mean_2' does not …"; "" without one.
std::string quoted_name(std::string_view text) {
  for (std::size_t at = text.find('\''); at != text.npos; at = text.find('\'', at + 1)) {
    if (at > 0 && text[at - 1] != ' ' && text[at - 1] != '(') continue;  // an apostrophe: "the batch's"
    const std::size_t end = text.find('\'', at + 1);
    if (end == text.npos) return "";
    const std::string_view name = text.substr(at + 1, end - at - 1);
    if (!name.empty() && name.find(' ') == name.npos) return std::string(name.substr(0, name.find(':')));
  }
  return "";
}

// Of a label in Prometheus' text format.
std::string label(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\' || c == '"') escaped += '\\';
    if (c == '\n') {
      escaped += "\\n";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

}  // namespace

OneDeviceReason reason_of(const Status& why) {
  // It runs on one device anyway, and there is no flag to type here.
  const std::string& next = why.hint();
  const bool runs_so = next.starts_with("train on one device") || next.starts_with("run this step on one device");
  const bool helps = !next.empty() && !runs_so && !next.starts_with("--");
  OneDeviceReason reason{.why = str_cat(why.message(), helps ? str_cat(" (try: ", next, ")") : "")};
  if (why.where().starts_with("node ")) reason.node = quoted_name(why.where());
  if (reason.node.empty()) reason.node = quoted_name(why.message());
  return reason;
}

OneDeviceReason* ReplicaCounter::find(std::vector<OneDeviceReason>& all, const OneDeviceReason& reason) {
  const auto found = std::ranges::find(all, reason.why, &OneDeviceReason::why);
  return found != all.end() ? &*found : nullptr;
}

void ReplicaCounter::replicated(const std::string& replicas, const std::optional<StepTimes>& times) {
  MutexLock lock(mutex_);
  ++totals_.steps;
  totals_.replicas = replicas;
  totals_.times = times;
}

void ReplicaCounter::small() {
  MutexLock lock(mutex_);
  ++totals_.small_steps;
}

bool ReplicaCounter::met(const OneDeviceReason& reason) {
  MutexLock lock(mutex_);
  if (find(totals_.reasons, reason) != nullptr || totals_.reasons.size() >= kMaxReasons) return false;
  totals_.reasons.push_back({reason.why, reason.node, 0, reason.times});
  return true;
}

void ReplicaCounter::on_one_device(const OneDeviceReason& reason) {
  MutexLock lock(mutex_);
  if (OneDeviceReason* const known = find(totals_.reasons, reason)) {
    ++known->steps;
  } else {
    ++totals_.more_reasons;
  }
}

void ReplicaCounter::checked(bool same) {
  MutexLock lock(mutex_);
  ++(same ? totals_.checked_steps : totals_.differing_steps);
}

bool ReplicaCounter::not_checked(const OneDeviceReason& reason) {
  MutexLock lock(mutex_);
  if (OneDeviceReason* const known = find(totals_.not_checked, reason)) {
    ++known->steps;
    return false;
  }
  if (totals_.not_checked.size() < kMaxReasons) totals_.not_checked.push_back({reason.why, reason.node, 1, {}});
  return true;
}

ReplicaTotals ReplicaCounter::totals() const {
  MutexLock lock(mutex_);
  ReplicaTotals told = totals_;
  // A step that failed ran nowhere to its end.
  std::erase_if(told.reasons, [](const OneDeviceReason& r) { return r.steps == 0; });
  return told;
}

std::string StepTimes::to_string() const {
  return str_cat(format_seconds(one_device), " a step on one device, ", format_seconds(replicated), " on ", devices);
}

std::string status_section(const ReplicaTotals& totals) {
  std::string text = str_cat("\nreplication\n  ", totals.steps, " steps replicated",
                             totals.replicas.empty() ? "" : str_cat(": ", totals.replicas),
                             totals.times ? str_cat(" (predicted: ", totals.times->to_string(), ")") : "", "\n  ",
                             totals.small_steps, " on one device: too few examples for every GPU to have one\n");
  for (const OneDeviceReason& r : totals.reasons) {
    text += str_cat("  ", r.steps, " on one device: ", r.why, r.node.empty() ? "" : str_cat("  [node '", r.node, "']"),
                    "\n");
  }
  if (totals.more_reasons > 0) text += str_cat("  ", totals.more_reasons, " on one device: for further reasons\n");
  if (totals.checked_steps + totals.differing_steps > 0 || !totals.not_checked.empty()) {
    text += str_cat("  ", totals.checked_steps, " checked, as on one device\n  ", totals.differing_steps,
                    " checked, other than on one device\n");
  }
  for (const OneDeviceReason& r : totals.not_checked) text += str_cat("  ", r.steps, " not checked: ", r.why, "\n");
  return text;
}

std::string metrics_section(const ReplicaTotals& totals) {
  std::string text =
      str_cat("# HELP argosy_replicated_steps_total Training steps run on all GPUs of their session.\n",
              "# TYPE argosy_replicated_steps_total counter\nargosy_replicated_steps_total ", totals.steps,
              "\n# HELP argosy_small_steps_total Training steps on one device: too few examples for every GPU.\n",
              "# TYPE argosy_small_steps_total counter\nargosy_small_steps_total ", totals.small_steps,
              "\n# HELP argosy_not_replicated_steps_total Training steps on one device, by reason.\n",
              "# TYPE argosy_not_replicated_steps_total counter\n");
  for (const OneDeviceReason& r : totals.reasons) {
    text += str_cat("argosy_not_replicated_steps_total{reason=\"", label(r.why), "\",node=\"", label(r.node), "\"} ",
                    r.steps, "\n");
  }
  if (totals.more_reasons > 0) {
    text +=
        str_cat("argosy_not_replicated_steps_total{reason=\"further reasons\",node=\"\"} ", totals.more_reasons, "\n");
  }
  text +=
      str_cat("# HELP argosy_checked_steps_total Replicated steps compared with the same on one device, by result.\n",
              "# TYPE argosy_checked_steps_total counter\nargosy_checked_steps_total{result=\"same\"} ",
              totals.checked_steps, "\nargosy_checked_steps_total{result=\"other\"} ", totals.differing_steps, "\n");
  return text;
}

}  // namespace argosy::tf
