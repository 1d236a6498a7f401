#include "tools/argosy/plan/plan_format.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

namespace argosy::cli {

namespace {

constexpr int kVersion = 1;
constexpr int kMostDepth = 8;  // of what a file nests; deeper values are left out, and missed

// What a step's time and memory depend on.
Json device_json(const DeviceSpec& spec) {
  return {{"name", spec.request_name()},
          {"kind", device_kind_name(spec.kind)},
          {"cores", spec.cores},
          {"speed", spec.speed},
          {"link_bytes_per_second", spec.link_bytes_per_second},
          {"memory_bytes", spec.memory_limit_bytes}};
}

std::string shown(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

// The devices of the plan among those of the run, by name and by what they are.
Result<std::string> compare_devices(const std::string& path, const Json& saved, const DeviceRequest& request) {
  ARGOSY_ASSIGN_OR_RETURN(const auto devices, chosen_devices(request));
  std::string list;
  for (const Json& device : saved) {
    const std::string name = device.at("name");
    const DeviceSpec* found = nullptr;
    for (const DeviceSpec& spec : devices) {
      if (spec.request_name() == name) found = &spec;
    }
    if (found == nullptr) {
      std::vector<std::string> here;
      for (const DeviceSpec& spec : devices) here.push_back(spec.request_name());
      return other_plan(path, str_cat(name, " and others; this run has ", str_join(here)));
    }
    const Json here = device_json(*found);
    for (const auto& [key, value] : here.items()) {
      if (!device.contains(key)) return no_plan(path, str_cat("a device has no \"", key, "\""));
      if (device[key] != value) {
        return other_plan(path, str_cat(name, " with ", key, " ", shown(device[key]), ", here it has ", shown(value)));
      }
    }
    list += (list.empty() ? "" : ",") + name;
  }
  if (list.empty()) return no_plan(path, "it names no device");
  return list;
}

Result<PlanDocument> parse(const std::string& path, const Json& file, const DeviceRequest& devices,
                           const ComparePlan& compare) {
  if (!file.is_object() || !file.contains("argosy_strategy")) return no_plan(path, "it has no \"argosy_strategy\"");
  if (file.at("argosy_strategy") != kVersion) {
    return no_plan(path, str_cat("it has version ", file.at("argosy_strategy").dump(), ", known is ", kVersion));
  }
  PlanDocument plan{.request = devices,
                    .batch = file.at("batch"),
                    .step_seconds = file.value("predicted_step_seconds", 0.0),
                    .planned_for = file.at("for")};
  auto strategy = StrategySpec::parse(file.at("strategy").get<std::string>());
  if (!strategy.ok()) return no_plan(path, std::string(strategy.status().message()));
  if (strategy->automatic || !strategy->file.empty()) return no_plan(path, "its strategy names no strategy");
  plan.strategy = *std::move(strategy);
  ARGOSY_RETURN_IF_ERROR(compare(plan));
  ARGOSY_ASSIGN_OR_RETURN(plan.request.devices, compare_devices(path, file.at("devices"), devices));
  ARGOSY_RETURN_IF_ERROR(plan.strategy.check(static_cast<int>(file.at("devices").size())));
  return plan;
}

}  // namespace

Status other_plan(const std::string& path, const std::string& what, const std::string& hint) {
  return failed_precondition("the plan in ", path, " is for ", what)
      .with_id("ARG-SHARD-003")
      .with_where("--strategy @" + path)
      .with_hint(hint);
}

Status no_plan(const std::string& path, const std::string& why) {
  return invalid_argument(path, " is no strategy file: ", why)
      .with_id("ARG-SHARD-004")
      .with_where("--strategy @" + path)
      .with_hint("argosy plan mlp --save mlp.plan (it writes one)");
}

Status write_plan(const std::string& path, const Plan& plan, const Json& planned_for) {
  Json devices = Json::array();
  for (const DeviceSpec& spec : plan.devices) devices.push_back(device_json(spec));
  const Json file = {{"argosy_strategy", kVersion}, {"strategy", plan.strategy.to_string()},
                     {"devices", devices},          {"for", planned_for},
                     {"batch", plan.batch},         {"predicted_step_seconds", plan.predicted.step_seconds}};
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << file.dump(2, ' ', false, Json::error_handler_t::replace) << "\n";
  out.close();
  if (out.good()) return ok_status();
  return not_found("cannot write ", path, ": ", std::strerror(errno))
      .with_id("ARG-FILE-001")
      .with_where("--save")
      .with_hint("--save FILE in a folder that may be written");
}

Result<PlanDocument> read_plan(const std::string& path, const DeviceRequest& devices, const ComparePlan& compare) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  if (in.good()) text << in.rdbuf();
  if (!in.good()) {
    return not_found("cannot read ", path, ": ", std::strerror(errno))
        .with_id("ARG-FILE-001")
        .with_where("--strategy @" + path)
        .with_hint("argosy plan mlp --save mlp.plan (it writes one)");
  }
  try {
    const auto shallow = [](int depth, Json::parse_event_t, Json&) { return depth <= kMostDepth; };
    return parse(path, Json::parse(text.str(), shallow), devices, compare);
  } catch (const Json::exception& e) {
    return no_plan(path, e.what());
  }
}

}  // namespace argosy::cli
