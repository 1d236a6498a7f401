// Checkpoints of variables that are on a device: how long training waits, and how fast they are durable.
#include <filesystem>

#include "argosy/base/system/file.h"
#include "argosy/formats/checkpoint/saver.h"
#include "argosy/ops/broadcast/broadcast.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/state/state.h"
#include "argosy/runtime/session/session.h"
#include "benchmarks/measure.h"
#include "tools/argosy/bench/bench.h"
#include "tools/argosy/bench/bench_ckpt.h"
#include "tools/argosy/bench/bench_gpus.h"
#include "tools/argosy/cli/console.h"
#include "tools/argosy/cli/device_flags.h"

namespace argosy::cli {

namespace {

using benchmark::Times;

struct Options {
  DeviceRequest request;
  std::string folder;
  std::int64_t mebibytes = 1024, tensors = 64, rounds = 3;
};

struct Model {
  Graph graph;
  Value small, first_values;
  std::vector<VariableNode> variables;
  std::vector<Value> reads;
};

void build(Model& model, const DeviceSpec& device, std::int64_t tensors, std::int64_t elements) {
  Graph& graph = model.graph;
  const auto on = graph.device(device.name.to_string());
  model.small = placeholder(graph, DType::kFloat32, {}, "small");
  std::vector<Value> first;
  for (std::int64_t i = 0; i < tensors; ++i) {
    model.variables.push_back(
        variable(graph, PartialShape{elements}, DType::kFloat32, str_cat("layer_", 1000 + i, "/weights")));
    first.push_back(assign(model.variables.back(), broadcast_to(model.small, {elements})));
    model.reads.push_back(model.variables.back().read);
  }
  model.first_values = group(graph, first);
}

Result<BenchResult> measure(const Options& options, Console& console) {
  ARGOSY_ASSIGN_OR_RETURN(const std::vector<DeviceSpec> devices, chosen_devices(options.request));
  const std::string folder = checkpoint_folder(options.folder);
  ARGOSY_RETURN_IF_ERROR(make_directories(folder));
  const std::int64_t elements = (options.mebibytes << 20) / options.tensors / 4;
  Model model;
  build(model, devices[0], options.tensors, elements);
  Session session(model.graph, {.devices = options.request});
  ARGOSY_RETURN_IF_ERROR(Status(session.status()));
  ARGOSY_RETURN_IF_ERROR(session.run({{model.small, Tensor::scalar(0.5f)}}, {}, {model.first_values}).status());
  const auto snapshot = [&]() -> Result<std::vector<tf::NamedTensor>> {
    ARGOSY_ASSIGN_OR_RETURN(const auto values, session.run(model.reads));
    std::vector<tf::NamedTensor> named;
    // Of a device that works in the host's memory these may be the variables themselves: they are not written to here.
    for (std::size_t i = 0; i < values.size(); ++i)
      named.push_back({str_cat("layer_", 1000 + i, "/weights"), values[i]});
    return named;
  };
  Times stall, durable, raw;
  const std::string saved = join_path(folder, "saver");
  {
    ARGOSY_ASSIGN_OR_RETURN(auto saver, tf::Saver::open({.directory = saved, .max_to_keep = 1}));
    for (std::int64_t round = -1; round < options.rounds; ++round) {
      console.note(round < 0 ? std::string("a first save") : str_cat("save ", round + 1));
      ARGOSY_ASSIGN_OR_RETURN(const auto to_write, snapshot());
      const std::int64_t before_raw = now_nanos();
      ARGOSY_RETURN_IF_ERROR(raw_write(folder, to_write));
      const double raw_seconds = seconds_since(before_raw);
      ARGOSY_RETURN_IF_ERROR(remove_file(join_path(folder, "raw")));
      const std::int64_t start = now_nanos();
      ARGOSY_ASSIGN_OR_RETURN(auto named, snapshot());
      if (named[0].tensor.data<float>()[elements - 1] != 0.5f) return internal_error("a snapshot of something else");
      ARGOSY_RETURN_IF_ERROR(saver->save_async_owned(round + 1, std::move(named)));
      const double waited = seconds_since(start);
      ARGOSY_RETURN_IF_ERROR(saver->wait());
      const double all = seconds_since(start);
      if (round < 0) continue;  // makes what is kept between saves
      raw.add(raw_seconds);
      stall.add(waited);
      durable.add(all);
    }
  }
  std::error_code ignored;  // what is left behind is the measurement's litter, not its result
  std::filesystem::remove_all(options.folder.empty() ? folder : saved, ignored);

  const double giga = static_cast<double>(elements * 4 * options.tensors) * 1e-9;
  BenchResult result{.benchmark = "snapshot"};
  double limit = giga / raw.min();
  std::optional<double> at_least;  // seconds that the link alone takes
  if (devices[0].kind == DeviceKind::kCuda) {
    const auto link = link_limit(links_of_gpus(options.request), devices[0], DeviceSpec());
    if (link) {
      limit = std::min(limit, *link * 1e-9);
      at_least = giga / (*link * 1e-9);
    }
  }
  result.rows.push_back({"stall", "s", stall.min(), stall.median(), at_least});
  result.rows.push_back({"saved, durable and verified", "GB/s", giga / durable.min(), giga / durable.median(), limit});
  result.notes.push_back(str_cat(giga, " GB in ", options.tensors, " variables under ", folder,
                                 "; stall: until training may go on; limits: the link, and one thread that writes and "
                                 "fsyncs"));
  return result;
}

}  // namespace

void add_bench_snapshot(Command& bench) {
  Options* options = nullptr;
  Command& command =
      add_benchmark(bench, "snapshot", "Checkpoints of what is on a device: how long training waits", options, measure);
  add_device_flags(command, options->request);
  command.option("--dir DIR", options->folder, "where to write; default: a temporary folder, removed afterwards")
      .option("--mib N", options->mebibytes, "size of all variables", {.least = 1, .most = 1 << 20})
      .option("--tensors N", options->tensors, "that they are", {.least = 1, .most = 100000})
      .option("--rounds N", options->rounds, "saves", {.least = 1, .most = 1000})
      .example("argosy bench snapshot --devices gpu:0 --dir DIR", "on the disk your checkpoints will be on");
}

}  // namespace argosy::cli
