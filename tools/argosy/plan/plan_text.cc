#include "tools/argosy/plan/plan_text.h"

#include <algorithm>
#include <cmath>

#include "argosy/planner/runners_up.h"
#include "tools/argosy/cli/count_of.h"
#include "tools/argosy/cli/progress.h"

namespace argosy::cli {

namespace {

constexpr std::size_t kMostShown = 8;            // lines of one list
constexpr std::uint64_t kWorthALine = 64 << 20;  // of the host beside GPUs
constexpr const char* kIndent = "            ";

// "  traffic   " and then the lines, one under the other.
std::string block(std::string title, std::vector<std::string> lines) {
  std::string text;
  const std::size_t all = lines.size();
  if (all > kMostShown + 1) {
    lines.resize(kMostShown);
    lines.push_back(str_cat("and ", all - kMostShown, " more (--json lists them)"));
  }
  title = str_cat("  ", title);
  title.resize(std::string_view(kIndent).size(), ' ');
  for (std::size_t i = 0; i < lines.size(); ++i) text += str_cat(i == 0 ? title : std::string(kIndent), lines[i], "\n");
  return text;
}

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.resize(width, ' ');
  return text;
}

std::string percent(double part) { return str_cat(std::llround(100 * part), " %"); }

std::vector<std::string> traffic(const Plan& plan) {
  if (plan.collectives.empty()) return {plan.devices.size() == 1 ? "none: one device" : "none between devices"};
  std::int64_t bytes = 0;
  bool open = false;
  for (const PlannedTransfer& c : plan.collectives) {
    bytes += std::max<std::int64_t>(c.bytes, 0);
    open = open || c.bytes < 0;
  }
  const double all = plan.predicted.collectives;
  std::string first = str_cat(open ? "at least " : "", format_bytes(static_cast<std::uint64_t>(bytes)), " a step in ",
                              count_of(std::ssize(plan.collectives), "collective"));
  if (all > 0) {
    const double hidden = std::max(0.0, 1 - plan.predicted.exposed_collectives / all);
    first += str_cat(", ", format_seconds(all), ", hidden ", percent(hidden));
  }
  std::vector<std::string> lines = {std::move(first)};
  for (const PlannedTransfer& c : plan.collectives) {
    std::string what = c.values == 1 ? c.value : str_cat(c.values, " values, first ", c.value);
    lines.push_back(str_cat(padded(c.op, 15), padded(std::move(what), 44), "  ",
                            padded(c.bytes < 0 ? "?" : format_bytes(static_cast<std::uint64_t>(c.bytes)), 10), "  ",
                            padded(c.bytes < 0 ? "?" : format_seconds(c.seconds), 8), "  why: ", c.why));
  }
  return lines;
}

std::vector<std::string> memory(const Plan& plan) {
  std::vector<std::string> lines;
  for (const PlannedMemory& m : plan.memory) {
    auto name = DeviceName::parse(m.device);
    const bool used = std::any_of(plan.devices.begin(), plan.devices.end(),
                                  [&](const DeviceSpec& d) { return d.name.to_string() == m.device; });
    if (!used && m.bytes < kWorthALine) continue;
    lines.push_back(str_cat(padded(name.ok() ? name->short_string() : m.device, 8), format_bytes(m.bytes),
                            m.limit > 0 ? str_cat(" of ", format_bytes(m.limit)) : std::string(),
                            " (variables and slots ", format_bytes(m.variables), ")",
                            m.exact ? "" : ", at least: some sizes depend on the data"));
  }
  return lines;
}

std::vector<std::string> not_sharded(const Plan& plan) {
  std::vector<std::string> lines;
  for (const PlannedWhole& w : plan.whole) lines.push_back(str_cat(w.node, " (", w.op, "): ", w.why));
  if (lines.empty()) lines.emplace_back("nothing that depends on the batch");
  return lines;
}

std::vector<std::string> lost(const Plan& plan) {
  std::vector<std::string> lines;
  std::size_t width = 0;
  for (const Alternative& a : plan.alternatives) width = std::max(width, a.strategy.to_string().size());
  for (const Alternative& a : plan.alternatives) lines.push_back(padded(a.strategy.to_string(), width + 2) + a.why);
  if (plan.not_tried > 0) lines.push_back(str_cat(plan.not_tried, " more were not tried: that takes too long"));
  if (lines.empty()) lines.emplace_back("nothing: there is no other strategy");
  return lines;
}

}  // namespace

std::string shell_word(const std::string& text) {
  return text.find_first_of("; *&|<>()$") == std::string::npos ? text : str_cat("'", text, "'");
}

std::string device_list(const Plan& plan) {
  std::vector<std::string> names;
  for (const DeviceSpec& spec : plan.devices) names.push_back(spec.request_name());
  return str_join(names, ",");
}

std::string machine_flags(const DeviceRequest& request) {
  std::string flags;
  for (const auto& [flag, value] : {std::pair("--emulate", request.emulate), std::pair("--mem", request.memory),
                                    std::pair("--virtual-gpus", request.virtual_gpus)}) {
    if (!value.empty()) flags += str_cat(" ", flag, " ", shell_word(value));
  }
  if (request.cpu_threads > 0) flags += str_cat(" --cpu-threads ", request.cpu_threads);
  if (request.tf32) flags += " --tf32";
  return flags;
}

std::string by_hand(const Plan& plan, const TrainChoices& c) {
  const TrainChoices none;
  std::string line = str_cat("argosy train ", c.model);
  const auto add = [&](const char* flag, const auto& value, const auto& unset) {
    if (value != unset) line += str_cat(" ", flag, " ", shell_word(str_cat(value)));
  };
  add("--data", c.data, none.data);
  add("--image-size", c.image_size, 0);
  add("--depth", c.depth, 0);
  add("--width", c.width, 0);
  add("--layers", c.layers, 0);
  if (c.dropout) line += str_cat(" --dropout ", *c.dropout);
  add("--precision", c.precision, none.precision);
  add("--seed", c.seed, none.seed);
  add("--batch", c.batch, 0);
  add("--optimizer", c.optimizer, none.optimizer);
  add("--clip-norm", c.clip_norm, 0);
  line += machine_flags(c.request);
  if (c.reproducible) line += " --reproducible";
  if (c.sync_batch_norm) line += " --sync-batch-norm";
  add("--shards", c.shards, 0);
  add("--combine", c.combine, none.combine);
  return str_cat(line, " --devices ", device_list(plan), " --strategy ", plan.strategy.to_string());
}

std::string plan_text(const Plan& plan, const std::string& name, const std::string& by_hand) {
  std::string text = str_cat(
      "plan        ", name, ", ", count_of(std::ssize(plan.devices), "device"), ", batch ", plan.batch, ": ",
      plan.strategy.to_string(), "   ", format_rate(plan.predicted.samples_per_second), " samples/s, ",
      format_seconds(plan.predicted.step_seconds), " a step (predicted, +-", percent(plan.predicted.spread), ")\n");
  if (std::string empty = plan.strategy.empty_micro_batches(static_cast<int>(plan.devices.size()), plan.batch);
      !empty.empty()) {
    text += block("waits", {std::move(empty)});
  }
  if (!plan.predicted.disturbed.empty()) {
    text += block("measured", {str_cat("while ", plan.predicted.disturbed, ": without them the figures are others")});
  }
  if (plan.predicted.input > 0) {
    text += block("input",
                  {str_cat(format_seconds(plan.predicted.input),
                           " of each step wait for the next batch (try: ", "argosy train with more --input-threads)")});
  }
  text += block("traffic", traffic(plan));
  text += block("memory", memory(plan));
  text += block("whole", not_sharded(plan));
  std::vector<std::string> notes;
  for (const ReplicationNote& note : plan.notes) notes.push_back(note.text);
  if (!notes.empty()) text += block("differs", std::move(notes));
  text += block("lost", lost(plan));
  text += block("by hand", {by_hand});
  for (const PlannedNode& n : plan.asked) {
    text += block("why", {str_cat(n.node, " (", n.op, "): ", n.copies), n.why});
  }
  return text;
}

}  // namespace argosy::cli
