#include "tools/argosy/run/run_verdict.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "argosy/base/str.h"
#include "tools/argosy/cli/count_of.h"

namespace argosy::cli {

namespace {

using Json = nlohmann::ordered_json;

Json to_json(const tf::StepTimes& times) {
  return {{"one_device_seconds", times.one_device}, {"replicated_seconds", times.replicated}};
}

Json to_json(const std::vector<tf::OneDeviceReason>& reasons) {
  Json list = Json::array();
  for (const tf::OneDeviceReason& r : reasons) {
    list.push_back({{"why", r.why}, {"node", r.node.empty() ? Json(nullptr) : Json(r.node)}, {"steps", r.steps}});
    if (r.times) list.back()["predicted"] = to_json(*r.times);
  }
  return list;
}

std::string number(const char* format, double value) {
  char text[32];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

// The one thing that would help most.
std::string advice(const RunReport& report, double busy, double at_work) {
  const tf::WorkTotals& totals = report.totals;
  const double seconds = report.seconds;
  std::string idle;
  int gpus = 0;
  for (const auto& d : totals.devices) {
    if (d.device.type != "GPU") continue;
    ++gpus;
    if (d.ops == 0) idle += str_cat(idle.empty() ? "" : ", ", d.device.short_string());
  }
  if (gpus == 0 && report.replicate && totals.replicated_steps == 0) {
    return "this run has no GPU to replicate on: --emulate 2 makes two of this machine's CPU";
  }
  if (!idle.empty()) {
    const std::string pin = str_cat("tf.device('/", idle.substr(0, idle.find(',')), "') puts work there");
    if (!totals.reasons.empty() && totals.reasons[0].times) {
      return str_cat(idle, " did nothing: one device is faster for these steps; larger batches would be sharded");
    }
    if (!totals.not_replicated.empty()) {
      return str_cat(idle, " did nothing: the training step could not be replicated; ", pin);
    }
    if (totals.small_steps > 0) {
      return str_cat(idle, " did nothing: ", count_of(totals.small_steps, "training step"),
                     " had too few examples for every GPU to have one; larger batches would be sharded");
    }
    if (report.replicate) return str_cat(idle, " did nothing: no step computes gradients and trains; ", pin);
    return str_cat(idle, " did nothing: no op asks for it; argosy run --replicate shards every batch over the GPUs, ",
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

constexpr const char* kNoSession =
    "no TensorFlow session came here: the program opened none, or gave it a target of its own, or its Python ignores "
    "PYTHONPATH (-E, -I)";

// Of a run whose own server had no session.
std::string no_session(const RunReport& report) {
  if (!report.own_task.empty()) {
    return str_cat("ran  ", report.own_task,
                   " of its cluster: no session was opened here; steps of other tasks' "
                   "sessions are counted where they were opened");
  }
  if (!report.served.empty()) {
    return str_cat("ran  ", str_join(report.served),
                   " by a server of the program's own, whose steps are not counted "
                   "here; argosy run --cluster JSON --job J --task N counts those of its sessions");
  }
  return kNoSession;
}

double busy_seconds(const tf::WorkTotals& totals) { return static_cast<double>(totals.busy_nanos) * 1e-9; }

double compute_seconds(const tf::WorkTotals& totals) {
  double sum = 0;
  for (const auto& d : totals.devices) sum += static_cast<double>(d.compute_nanos) * 1e-9;
  return sum;
}

// Steps that did not run to their end.
std::string other_ends(const tf::WorkTotals& totals) {
  std::string text;
  const auto add = [&](std::int64_t count, const char* what) {
    if (count > 0) text += str_cat(", ", count, " ", what);
  };
  add(totals.data_ended_steps, "at the end of the data");
  add(totals.cancelled_steps, "cancelled");
  add(totals.failed_steps, "that failed");
  return text;
}

// One line says why, the next how often and where.
std::string replication_lines(const tf::WorkTotals& totals) {
  std::string text;
  if (totals.replicated_steps > 0) {
    text += str_cat("\nreplicated  ", count_of(totals.replicated_steps, "step"), ": ", totals.replicas);
    if (totals.times) text += str_cat("\n    predicted ", totals.times->to_string());
  }
  if (totals.small_steps > 0) {
    text += str_cat("\non one device  ", count_of(totals.small_steps, "step"),
                    ": too few examples for every GPU to have one");
  }
  for (const tf::OneDeviceReason& r : totals.reasons) {
    text += str_cat("\nnot replicated: ", r.why, "\n    ", count_of(r.steps, "step"),
                    r.node.empty() ? "" : str_cat(", node '", r.node, "'"));
  }
  if (totals.more_reasons > 0) {
    text += str_cat("\nnot replicated: for further reasons\n    ", count_of(totals.more_reasons, "step"));
  }
  if (totals.checked_steps > 0)
    text += str_cat("\nchecked  ", count_of(totals.checked_steps, "step"), ": as on one device");
  if (totals.differing_steps > 0) {
    text += str_cat("\nchecked  ", count_of(totals.differing_steps, "step"), ": OTHER than on one device; they failed");
  }
  for (const tf::OneDeviceReason& r : totals.not_checked) {
    text += str_cat("\nnot checked: ", r.why, "\n    ", count_of(r.steps, "step"),
                    r.node.empty() ? "" : str_cat(", node '", r.node, "'"));
  }
  return text;
}

}  // namespace

std::string run_verdict(const RunReport& report) {
  const tf::WorkTotals& totals = report.totals;
  if (totals.sessions == 0) return no_session(report);
  const double busy = busy_seconds(totals), compute = compute_seconds(totals);
  std::string text =
      str_cat("ran  ", count_of(totals.sessions, "session"), ", ", count_of(totals.steps, "step"), other_ends(totals),
              ", ", number("%.1f", busy), " s of the program's ", number("%.1f", report.seconds), " s");
  text += replication_lines(totals);
  if (totals.steps == 0 || busy <= 0) return text;
  std::string shares;
  for (const auto& d : totals.devices) {
    const double own = static_cast<double>(d.compute_nanos) * 1e-9;
    shares +=
        str_cat(shares.empty() ? "     " : "   ", d.device.short_string(), " ", number("%.0f", 100 * own / busy), " %");
  }
  const double at_work = compute / busy;
  text += str_cat("\ncomputing, of that time\n", shares, "\n", number("%.2f", at_work),
                  " devices at work at a time; the same work on one, one after the other: ", number("%.1f", compute),
                  " s\nwhat would help: ", advice(report, busy, at_work));
  return text;
}

std::string run_verdict_json(const RunReport& report) {
  const tf::WorkTotals& totals = report.totals;
  const double busy = busy_seconds(totals), compute = compute_seconds(totals);
  Json devices = Json::array(), reasons = to_json(totals.reasons);
  for (const auto& d : totals.devices) {
    devices.push_back({{"name", d.device.short_string()},
                       {"compute_seconds", static_cast<double>(d.compute_nanos) * 1e-9},
                       {"copy_seconds", static_cast<double>(d.copy_nanos) * 1e-9},
                       {"ops", d.ops}});
  }
  if (totals.more_reasons > 0) {
    reasons.push_back({{"why", "further reasons"}, {"node", nullptr}, {"steps", totals.more_reasons}});
  }
  const bool ran = totals.steps > 0 && busy > 0;
  const Json document = {{"schema_version", 1},
                         {"exit_code", report.exit_code},
                         {"program_seconds", report.seconds},
                         {"busy_seconds", busy},
                         {"sessions", totals.sessions},
                         {"steps", totals.steps},
                         {"failed_steps", totals.failed_steps},
                         {"data_ended_steps", totals.data_ended_steps},
                         {"cancelled_steps", totals.cancelled_steps},
                         {"devices", devices},
                         {"devices_at_work", ran ? Json(compute / busy) : Json(nullptr)},
                         {"replicate", report.replicate},
                         {"replicated_steps", totals.replicated_steps},
                         {"replicas", totals.replicas.empty() ? Json(nullptr) : Json(totals.replicas)},
                         {"predicted", totals.times ? to_json(*totals.times) : Json(nullptr)},
                         {"small_steps", totals.small_steps},
                         {"not_replicated", reasons},
                         {"checked_steps", totals.checked_steps},
                         {"differing_steps", totals.differing_steps},
                         {"not_checked", to_json(totals.not_checked)},
                         {"advice", totals.sessions == 0 ? Json(no_session(report))
                                    : ran                ? Json(advice(report, busy, compute / busy))
                                                         : Json(nullptr)}};
  // Names of nodes are a client's bytes.
  return document.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace argosy::cli
