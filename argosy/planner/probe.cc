#include "argosy/planner/probe.h"

#include <algorithm>
#include <barrier>
#include <cmath>
#include <memory>
#include <thread>

#include "argosy/base/clock.h"
#include "argosy/base/threads/parallel.h"
#include "argosy/data/loader.h"
#include "argosy/planner/compiled_step.h"
#include "argosy/planner/step_simulator.h"
#include "argosy/train/loop/evaluation.h"
#include "argosy/train/report/memory_check.h"
#include "argosy/train/report/step_cost.h"

namespace argosy {

namespace {

constexpr int kLeastRounds = 3, kMostRounds = 25;

// Value of the sorted numbers at a part of their length.
double at_part(const std::vector<double>& sorted, double part) {
  return sorted[static_cast<std::size_t>(part * static_cast<double>(sorted.size() - 1) + 0.5)];
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return at_part(values, 0.5);
}

std::string kind_of(const DeviceSpec& spec) {
  return str_cat(device_kind_name(spec.kind), " ", spec.cores, " cores at ", spec.speed);
}

Result<std::unique_ptr<data::Loader>> open_loader(const ProbeRequest& request, std::int64_t batch) {
  return data::Loader::open(request.data, {.batch = std::min(batch, request.data.size()),
                                           .shuffle = false,
                                           .drop_last = true,
                                           .threads = request.options.input_threads});
}

// Seconds in which the loader makes a batch, when it does nothing else.
Result<double> measure_input(const ProbeRequest& request, double seconds) {
  ARGOSY_ASSIGN_OR_RETURN(const auto loader, open_loader(request, request.batch));
  const int ahead = loader->options().prefetch + 1;
  for (int i = 0; i < ahead; ++i) ARGOSY_RETURN_IF_ERROR(loader->next().status());  // made before they were asked for
  const std::int64_t began = now_nanos();
  int made = 0;
  while (made < 2 || (made < kMostRounds && seconds_since(began) < seconds)) {
    ARGOSY_RETURN_IF_ERROR(loader->next().status());
    ++made;
  }
  return seconds_since(began) / made;
}

// The model on one device, with variables of its own.
class OneDevice {
 public:
  static Result<std::unique_ptr<OneDevice>> open(const ProbeRequest& request, const DeviceSpec& spec) {
    auto made = std::unique_ptr<OneDevice>(new OneDevice(request, spec));
    TrainerOptions alone = request.options;
    alone.strategy = {};
    ARGOSY_ASSIGN_OR_RETURN(made->device_set_, DeviceSet::make(request.options.devices));
    ARGOSY_ASSIGN_OR_RETURN(made->program_,
                            CompiledModels(request.model, alone).make_measured({spec}, made->device_set_));
    ARGOSY_ASSIGN_OR_RETURN(made->components_, match_inputs(made->program_->built().inputs, request.data));
    return made;
  }

  Result<bool> fits(std::int64_t batch) {
    const Status status = check(batch);
    if (!status.ok() && status.code() != Code::kResourceExhausted) return status;
    return status.ok();
  }
  Status check(std::int64_t batch) { return check_memory(*program_, batch); }

  // Ready to run steps of so many examples.
  Status prepare(std::int64_t batch) {
    if (!initialized_) ARGOSY_RETURN_IF_ERROR(program_->initialize());
    initialized_ = true;
    loader_.reset();
    ARGOSY_ASSIGN_OR_RETURN(loader_, open_loader(request_, batch));
    for (int i = 0; i < 2; ++i) {  // compiles, records
      ARGOSY_RETURN_IF_ERROR(next_batch());
      ARGOSY_RETURN_IF_ERROR(program_->step(feeds_).status());
    }
    return ok_status();
  }

  // Of a fresh batch, as in training: meanwhile the loader makes the next one.
  Result<double> step_seconds() {
    ARGOSY_RETURN_IF_ERROR(next_batch());
    const std::int64_t start = now_nanos();
    ARGOSY_RETURN_IF_ERROR(program_->step(feeds_).status());
    return seconds_since(start);
  }

  // Steps for about so long; adds the ops' times. `wall`: seconds of each plain step.
  Status measure(std::int64_t batch, double seconds, Probed& probed, std::vector<double>& wall) {
    ARGOSY_RETURN_IF_ERROR(prepare(batch));
    std::map<std::pair<std::string, std::string>, std::vector<double>> by_node;
    const std::int64_t began = now_nanos();
    for (int round = 0; round < kMostRounds; ++round) {
      if (round >= kLeastRounds && seconds_since(began) > seconds) break;
      ARGOSY_ASSIGN_OR_RETURN(const double plain, step_seconds());
      wall.push_back(plain);
      StepStats stats{.keep_ops = true};
      ARGOSY_RETURN_IF_ERROR(next_batch());
      ARGOSY_RETURN_IF_ERROR(program_->step(feeds_, &stats).status());
      for (const OpRecord& op : stats.ops) {
        by_node[{op.node, op.op}].push_back(static_cast<double>(op.end_nanos - op.start_nanos) * 1e-9);
      }
      if (round == 0 && plain > seconds) break;  // one step is all there is time for
    }
    std::sort(wall.begin(), wall.end());
    ARGOSY_ASSIGN_OR_RETURN(const auto step, compile_to_look(*program_, device_set_, request_.options, batch));
    add_ops(step->info.graph->graph, by_node, at_part(wall, 0.5), probed);
    return note_overhead(*step, at_part(wall, 0.5), probed);
  }

 private:
  OneDevice(const ProbeRequest& request, const DeviceSpec& spec) : request_(request), spec_(spec) {}

  Status next_batch() {
    ARGOSY_ASSIGN_OR_RETURN(const data::Batch examples, loader_->next());
    feeds_ = feeds_of(examples, components_);
    return ok_status();
  }

  // An asynchronous device only enqueues: there the step's time is spread over its ops by a roofline of their costs.
  void add_ops(const Graph& graph, std::map<std::pair<std::string, std::string>, std::vector<double>>& by_node,
               double wall, Probed& probed) const {
    const bool async = spec_.kind == DeviceKind::kCuda;
    const auto roofline = [](const Cost& c) { return 4e-6 + std::max(c.flops / 3e13, c.bytes / 1.5e12); };
    double all = 0;
    std::vector<std::pair<const Node*, Cost>> nodes;
    for (const Node& n : graph.nodes()) {
      if (!by_node.contains({std::string(n.name), n.op->name})) continue;
      nodes.emplace_back(&n, node_cost(graph, n));
      all += roofline(nodes.back().second);
    }
    for (const auto& [n, cost] : nodes) {
      const double seconds = async ? wall * roofline(cost) / all : median(by_node[{std::string(n->name), n->op->name}]);
      probed.ops.add(n->name, n->op->name, cost, seconds);
    }
  }

  Status note_overhead(const Step& step, double wall, Probed& probed) {
    SimulatorOptions options{.kernel = [&](const Node& n, const Graph& graph,
                                           int) { return probed.ops.seconds(n.name, n.op->name, node_cost(graph, n)); },
                             .cores = available_cores()};
    const auto simulated = simulate_step(step, options);
    if (!simulated.ok()) return simulated.status();
    const double overhead = std::max(0.0, wall - simulated->seconds);
    probed.overhead = measured_ ? std::min(probed.overhead, overhead) : overhead;
    measured_ = true;
    return ok_status();
  }

  const ProbeRequest& request_;
  const DeviceSpec spec_;
  std::shared_ptr<DeviceSet> device_set_;
  std::unique_ptr<CompiledModel> program_;
  std::vector<std::size_t> components_;
  std::unique_ptr<data::Loader> loader_;
  std::vector<Tensor> feeds_;
  bool initialized_ = false, measured_ = false;
};

// The sizes that a device may see: the one of all devices first.
std::vector<std::int64_t> batch_sizes(std::int64_t batch, std::int64_t devices) {
  std::vector<std::int64_t> sizes;
  for (const std::int64_t size : {(batch + devices - 1) / devices, batch, (batch + 2 * devices - 1) / (2 * devices)}) {
    if (std::find(sizes.begin(), sizes.end(), size) == sizes.end()) sizes.push_back(size);
  }
  return sizes;
}

Result<Probed> probe_kind(const ProbeRequest& request, const DeviceSpec& spec, double seconds) {
  ARGOSY_ASSIGN_OR_RETURN(const auto device, OneDevice::open(request, spec));
  std::vector<std::int64_t> sizes = batch_sizes(request.batch, std::ssize(request.devices));
  ARGOSY_ASSIGN_OR_RETURN(bool fits, device->fits(sizes[0]));
  for (; !fits && sizes[0] > 1;) {
    sizes = {sizes[0] / 2};
    ARGOSY_ASSIGN_OR_RETURN(fits, device->fits(sizes[0]));
  }
  if (!fits) return device->check(sizes[0]);
  Probed probed;
  const std::int64_t began = now_nanos();
  double first = 0;  // seconds of a step of sizes[0]
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    const double share = seconds / static_cast<double>(sizes.size());
    if (k > 0) {
      const double guess = first * static_cast<double>(sizes[k]) / static_cast<double>(sizes[0]);
      if (seconds_since(began) + guess * (2 + 2 * kLeastRounds) > seconds * 1.5) continue;
      ARGOSY_ASSIGN_OR_RETURN(const bool also_fits, device->fits(sizes[k]));
      if (!also_fits) continue;
    }
    std::vector<double> wall;
    ARGOSY_RETURN_IF_ERROR(device->measure(sizes[k], share, probed, wall));
    if (k == 0) first = at_part(wall, 0.5);
    probed.spread = std::max(probed.spread, (at_part(wall, 0.9) - at_part(wall, 0.1)) / at_part(wall, 0.5) / 2);
  }
  return probed;
}

// How much longer a device's step takes while every device runs one, beyond what sharing the cores explains.
Result<double> measure_slowdown(const ProbeRequest& request, double seconds) {
  const auto n = static_cast<std::int64_t>(request.devices.size());
  const std::int64_t batch = (request.batch + n - 1) / n;
  std::vector<std::unique_ptr<OneDevice>> all;
  double cores = 0;
  for (const DeviceSpec& spec : request.devices) {
    ARGOSY_ASSIGN_OR_RETURN(auto device, OneDevice::open(request, spec));
    ARGOSY_ASSIGN_OR_RETURN(const bool fits, device->fits(batch));
    if (!fits) return 1.0;
    ARGOSY_RETURN_IF_ERROR(device->prepare(batch));
    all.push_back(std::move(device));
    cores += spec.cores * spec.speed;
  }
  std::map<std::string, double> alone;  // by kind: seconds of a step
  int steps = 3;
  for (std::size_t d = 0; d < all.size(); ++d) {
    double& seconds_alone = alone[kind_of(request.devices[d])];
    if (seconds_alone > 0) continue;
    ARGOSY_ASSIGN_OR_RETURN(const double once, all[d]->step_seconds());
    if (d == 0) steps = std::clamp(static_cast<int>(seconds / 2 / std::max(once, 1e-6)), 3, 100);
    std::vector<double> plain;
    for (int i = 0; i < steps; ++i) {
      ARGOSY_ASSIGN_OR_RETURN(const double one, all[d]->step_seconds());
      plain.push_back(one);
    }
    seconds_alone = median(std::move(plain));
  }
  std::vector<std::vector<double>> together(all.size());
  std::vector<Status> ended(all.size());
  std::barrier start(static_cast<std::ptrdiff_t>(all.size()));
  std::vector<std::thread> threads;
  for (std::size_t d = 0; d < all.size(); ++d) {
    threads.emplace_back([&, d] {
      for (int i = 0; i < steps; ++i) {
        start.arrive_and_wait();  // a step of training begins on all devices, too
        auto plain = all[d]->step_seconds();
        if (plain.ok()) together[d].push_back(*plain);
        if (!plain.ok()) ended[d] = plain.status();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (Status& status : ended) ARGOSY_RETURN_IF_ERROR(std::move(status));
  std::vector<double> longer;  // in each round, of the device that was held up most: the others wait for it
  for (int i = 0; i < steps; ++i) {
    double most = 0;
    for (std::size_t d = 0; d < all.size(); ++d) {
      most = std::max(most, together[d][static_cast<std::size_t>(i)] / alone[kind_of(request.devices[d])]);
    }
    longer.push_back(most);
  }
  const bool on_host = request.devices[0].kind != DeviceKind::kCuda;
  const double shared = on_host ? std::max(1.0, cores / available_cores()) : 1.0;
  return std::max(1.0, median(std::move(longer)) / shared);
}

}  // namespace

Result<Probes> Probes::run(const ProbeRequest& request, double seconds) {
  Probes probes;
  probes.devices_ = static_cast<int>(request.devices.size());
  std::vector<DeviceSpec> kinds;
  for (const DeviceSpec& spec : request.devices) {
    if (std::none_of(kinds.begin(), kinds.end(), [&](const DeviceSpec& k) { return kind_of(k) == kind_of(spec); })) {
      kinds.push_back(spec);
    }
  }
  const double parts = static_cast<double>(kinds.size()) + (probes.devices_ > 1 ? 0.5 : 0);
  ARGOSY_ASSIGN_OR_RETURN(probes.input_seconds_, measure_input(request, seconds / 20));
  for (const DeviceSpec& spec : kinds) {
    ARGOSY_ASSIGN_OR_RETURN(probes.by_kind_[kind_of(spec)], probe_kind(request, spec, seconds / parts));
  }
  if (probes.devices_ > 1) {
    ARGOSY_ASSIGN_OR_RETURN(probes.slowdown_, measure_slowdown(request, seconds / parts / 2));
  }
  return probes;
}

// The host of GPUs is none of the kinds: what it does beside them was measured with the first.
const Probed& Probes::of(const DeviceSpec& spec) const {
  const auto found = by_kind_.find(kind_of(spec));
  return found != by_kind_.end() ? found->second : by_kind_.begin()->second;
}

double Probes::slowdown(int devices) const {
  if (devices_ < 2) return 1;
  return 1 + (slowdown_ - 1) * static_cast<double>(devices - 1) / static_cast<double>(devices_ - 1);
}

double Probes::spread() const {
  double most = 0;
  for (const auto& [kind, probed] : by_kind_) most = std::max(most, probed.spread);
  return most;
}

}  // namespace argosy
