#include "tools/argosy/plan/plan_file.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "argosy/planner/planner.h"
#include "argosy/planner/runners_up.h"
#include "tools/argosy/cli/progress.h"

namespace argosy::cli {

namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;
constexpr int kMostDepth = 8;  // of what a file nests; deeper values are left out, and missed

// What decides about the graph of a step, as it is typed.
Json model_json(const TrainChoices& c) {
  return {{"model", c.model},
          {"data", c.data},
          {"image-size", c.image_size},
          {"depth", c.depth},
          {"width", c.width},
          {"layers", c.layers},
          {"precision", c.precision},
          {"optimizer", c.optimizer},
          {"clip-norm", c.clip_norm},
          {"reproducible", c.reproducible},
          {"shards", c.shards},
          {"sync-batch-norm", c.sync_batch_norm}};
}

// What a step's time and memory depend on.
Json device_json(const DeviceSpec& spec) {
  return {{"name", spec.request_name()},
          {"kind", device_kind_name(spec.kind)},
          {"cores", spec.cores},
          {"speed", spec.speed},
          {"link_bytes_per_second", spec.link_bytes_per_second},
          {"memory_bytes", spec.memory_limit_bytes}};
}

template <typename... Parts>
Status differs(const std::string& path, const Parts&... parts) {
  return failed_precondition("the plan in ", path, " is for ", parts...)
      .with_id("ARG-SHARD-003")
      .with_where("--strategy @" + path)
      .with_hint("--strategy auto (it plans anew)");
}

Status damaged(const std::string& path, const std::string& why) {
  return invalid_argument(path, " is no strategy file: ", why)
      .with_id("ARG-SHARD-004")
      .with_where("--strategy @" + path)
      .with_hint("argosy plan mlp --save mlp.plan (it writes one)");
}

std::string shown(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

Status compare_model(const std::string& path, const Json& saved, const TrainChoices& choices) {
  const Json run = model_json(choices);
  for (const auto& [key, here] : run.items()) {
    if (!saved.contains(key)) return damaged(path, str_cat("\"", key, "\" is missing"));
    if (saved[key] == here) continue;
    const std::string name = key == "model" ? "" : str_cat("--", key, " ");
    const auto text = [&](const Json& value) {
      const bool unset = value == "" || value == 0 || value == false;
      return unset ? str_cat("no ", name.empty() ? "model" : name.substr(0, name.size() - 1)) : name + shown(value);
    };
    return differs(path, text(saved[key]), ", this run has ", text(here));
  }
  return ok_status();
}

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
      return differs(path, name, " and others; this run has ", str_join(here));
    }
    const Json here = device_json(*found);
    for (const auto& [key, value] : here.items()) {
      if (!device.contains(key)) return damaged(path, str_cat("a device has no \"", key, "\""));
      if (device[key] != value) {
        return differs(path, name, " with ", key, " ", shown(device[key]), ", here it has ", shown(value));
      }
    }
    list += (list.empty() ? "" : ",") + name;
  }
  if (list.empty()) return damaged(path, "it names no device");
  return list;
}

Result<SavedStrategy> read_strategy(const std::string& path, const Json& file, const TrainChoices& choices,
                                    std::int64_t batch) {
  if (!file.is_object() || !file.contains("argosy_strategy")) return damaged(path, "it has no \"argosy_strategy\"");
  if (file.at("argosy_strategy") != kVersion) {
    return damaged(path, str_cat("it has version ", file.at("argosy_strategy").dump(), ", known is ", kVersion));
  }
  ARGOSY_RETURN_IF_ERROR(compare_model(path, file.at("for"), choices));
  if (file.at("batch") != batch) return differs(path, "--batch ", file.at("batch").dump(), ", this run has ", batch);
  SavedStrategy saved{.strategy = {}, .request = choices.request};
  ARGOSY_ASSIGN_OR_RETURN(saved.request.devices, compare_devices(path, file.at("devices"), choices.request));
  auto strategy = StrategySpec::parse(file.at("strategy").get<std::string>());
  if (!strategy.ok()) return damaged(path, strategy.status().message());
  if (strategy->automatic || !strategy->file.empty()) return damaged(path, "its strategy names no strategy");
  saved.strategy = *std::move(strategy);
  ARGOSY_RETURN_IF_ERROR(saved.strategy.check(static_cast<int>(file.at("devices").size())));
  return saved;
}

}  // namespace

Status save_strategy(const std::string& path, const Plan& plan, const TrainChoices& choices) {
  Json devices = Json::array();
  for (const DeviceSpec& spec : plan.devices) devices.push_back(device_json(spec));
  const Json file = {{"argosy_strategy", kVersion}, {"strategy", plan.strategy.to_string()},
                     {"devices", devices},          {"for", model_json(choices)},
                     {"batch", plan.batch},         {"predicted_step_seconds", plan.predicted.step_seconds}};
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << file.dump(2) << "\n";
  out.close();
  if (out.good()) return ok_status();
  return not_found("cannot write ", path, ": ", std::strerror(errno))
      .with_id("ARG-FILE-001")
      .with_where("--save")
      .with_hint("--save FILE in a folder that may be written");
}

Result<SavedStrategy> load_strategy(const std::string& path, const TrainChoices& choices, std::int64_t batch) {
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
    return read_strategy(path, Json::parse(text.str(), shallow), choices, batch);
  } catch (const Json::exception& e) {
    return damaged(path, e.what());
  }
}

Result<std::string> resolve_strategy(const TrainChoices& choices, TrainJob& job) {
  TrainerOptions& options = job.options;
  const std::int64_t batch = std::min(options.batch, std::max<std::int64_t>(job.train->size(), 1));
  if (!choices.strategy.file.empty()) {
    ARGOSY_ASSIGN_OR_RETURN(const SavedStrategy saved, load_strategy(choices.strategy.file, choices, batch));
    options.strategy = saved.strategy;
    options.devices = saved.request;
    return str_cat(saved.strategy.to_string(), ", of ", choices.strategy.file);
  }
  if (!choices.strategy.automatic) return std::string();
  ARGOSY_ASSIGN_OR_RETURN(const Plan plan, make_plan(job.model, options, *job.train));
  options.strategy = plan.strategy;
  options.devices = request_of(plan, options.devices);
  std::string text =
      str_cat(plan.strategy.to_string(), " of ", plan.devices_asked, plan.devices_asked == 1 ? " device" : " devices",
              ", predicted ", format_rate(plan.predicted.samples_per_second), " samples/s");
  if (!plan.alternatives.empty()) {
    const Alternative& next = plan.alternatives[0];
    text += str_cat("; ", next.strategy.to_string(), " would be ", next.why);
  }
  return text;
}

}  // namespace argosy::cli
