#include <nlohmann/json.hpp>

#include "tools/argosy/plan/plan_text.h"

namespace argosy::cli {

namespace {

using Json = nlohmann::ordered_json;

// Null where the size depends on the step.
Json bytes_or_null(std::int64_t bytes) { return bytes < 0 ? Json(nullptr) : Json(bytes); }

// What of a graph's file was planned.
Json graph_json(const tf::GraphStep& step) {
  Json feeds = Json::array();
  for (std::size_t i = 0; i < step.subject().feeds.size(); ++i) {
    const Tensor& fed = step.subject().feeds[i];
    feeds.push_back({{"name", step.subject().values.feeds[i].name()},
                     {"dtype", dtype_name(fed.dtype())},
                     {"shape", std::vector<std::int64_t>(fed.shape().sizes().begin(), fed.shape().sizes().end())},
                     {"batch_axis", step.subject().axes[i] < 0 ? Json(nullptr) : Json(step.subject().axes[i])}});
  }
  return {{"targets", step.targets()}, {"losses", step.losses()}, {"feeds", feeds}};
}

}  // namespace

std::string plan_json(const Plan& plan, const tf::GraphStep* step) {
  Json memory = Json::object(), collectives = Json::array(), whole = Json::array(), alternatives = Json::array();
  for (const PlannedMemory& m : plan.memory) {
    auto name = DeviceName::parse(m.device);
    memory[name.ok() ? name->short_string() : m.device] = m.bytes;
  }
  for (const PlannedTransfer& c : plan.collectives) {
    collectives.push_back({{"op", c.op},
                           {"value", c.value},
                           {"bytes", bytes_or_null(c.bytes)},
                           {"seconds", c.bytes < 0 ? Json(nullptr) : Json(c.seconds)},
                           {"why", c.why}});
  }
  for (const PlannedWhole& w : plan.whole) whole.push_back({{"node", w.node}, {"op", w.op}, {"why", w.why}});
  for (const Alternative& a : plan.alternatives) {
    alternatives.push_back({{"strategy", a.strategy.to_string()},
                            {"devices", a.devices},
                            {"fits", a.fits},
                            {"step_seconds", a.fits ? Json(a.step_seconds) : Json(nullptr)},
                            {"why", a.why}});
  }
  Json document = {
      {"schema_version", 1},
      {"strategy", plan.strategy.to_string()},
      {"devices", plan.devices.size()},
      {"predicted",
       {{"step_seconds", plan.predicted.step_seconds}, {"samples_per_second", plan.predicted.samples_per_second}}},
      {"memory", memory},
      {"collectives", collectives},
      {"whole", whole},
      {"alternatives", alternatives}};
  Json asked = Json::array();
  for (const PlannedNode& n : plan.asked) {
    asked.push_back({{"node", n.node}, {"op", n.op}, {"copies", n.copies}, {"why", n.why}});
  }
  if (!asked.empty()) document["why"] = asked;
  if (step != nullptr) document["graph"] = graph_json(*step);
  // Names of nodes are a file's bytes.
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace argosy::cli
