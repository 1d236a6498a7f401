#include "argosy/planner/probe.h"

#include <algorithm>
#include <barrier>
#include <cmath>
#include <memory>
#include <numeric>
#include <thread>

#include "argosy/base/clock.h"
#include "argosy/base/threads/parallel.h"
#include "argosy/planner/step_simulator.h"
#include "argosy/train/report/step_cost.h"

namespace argosy {

namespace {

constexpr int kLeastRounds = 3, kMostRounds = 25;
constexpr int kRoundsToSpread = 10;  // in which new threads find cores of their own
constexpr double kOverBudget = 1.2;  // of large steps there are fewer rounds, beyond that much of their time

// Returns a quantile of sorted numbers; `part`: 0 to 1.
double at_part(const std::vector<double>& sorted, double part) {
  return sorted[static_cast<std::size_t>(part * static_cast<double>(sorted.size() - 1) + 0.5)];
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return at_part(values, 0.5);
}

// Returns the mean without the slowest twentieth. It is no median: the rate of a training includes steps that wait for
// its loader.
double mean_of_most(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  values.resize(values.size() - values.size() / 20);
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::string kind_of(const DeviceSpec& spec) {
  return str_cat(device_kind_name(spec.kind), " ", spec.cores, " cores at ", spec.speed);
}

// Measures steps on one kind of device.
class KindProbe {
 public:
  KindProbe(const DeviceSpec& spec, TrialSteps& steps) : spec_(spec), steps_(steps) {}

  // Runs steps for about `seconds`, and adds the ops' times to `probed`. `wall`: the seconds of each step without
  // records of ops.
  Status measure(std::int64_t batch, double seconds, Probed& probed, std::vector<double>& wall) {
    ARGOSY_RETURN_IF_ERROR(steps_.prepare(batch));
    std::map<std::pair<std::string, std::string>, std::vector<double>> by_node;
    const std::int64_t began = now_nanos();
    for (int round = 0; round < kMostRounds; ++round) {
      const double spent = seconds_since(began);
      if (spent > (round >= kLeastRounds ? 1 : kOverBudget) * seconds && round > 0) break;
      ARGOSY_ASSIGN_OR_RETURN(const double plain, steps_.step_seconds(nullptr));
      wall.push_back(plain);
      StepStats stats{.keep_ops = true};
      ARGOSY_RETURN_IF_ERROR(steps_.step_seconds(&stats).status());
      for (const OpRecord& op : stats.ops) {
        by_node[{op.node, op.op}].push_back(static_cast<double>(op.end_nanos - op.start_nanos) * 1e-9);
      }
      if (round == 0 && plain > seconds) break;  // one step is all there is time for
    }
    std::sort(wall.begin(), wall.end());
    ARGOSY_ASSIGN_OR_RETURN(const auto step, steps_.look(batch));
    add_ops(step->info.graph->graph, by_node, at_part(wall, 0.5), probed);
    return note_overhead(*step, mean_of_most(wall), probed);
  }

 private:
  // Kernels of an asynchronous device only enqueue work. There the step's time is divided among its ops by a roofline
  // of their costs.
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

  const DeviceSpec& spec_;
  TrialSteps& steps_;
  bool measured_ = false;
};

Result<bool> fits(TrialSteps& steps, std::int64_t batch) {
  const Status status = steps.check(batch);
  if (!status.ok() && status.code() != Code::kResourceExhausted) return status;
  return status.ok();
}

// Returns the batch sizes that a device may get, first the one with all devices.
std::vector<std::int64_t> batch_sizes(std::int64_t batch, std::int64_t devices) {
  std::vector<std::int64_t> sizes;
  for (const std::int64_t size : {(batch + devices - 1) / devices, batch, (batch + 2 * devices - 1) / (2 * devices)}) {
    if (std::find(sizes.begin(), sizes.end(), size) == sizes.end()) sizes.push_back(size);
  }
  return sizes;
}

// A device that was probed. It keeps its compiled steps and variables, since making them costs more than a few steps.
struct ProbedDevice {
  std::unique_ptr<TrialSteps> steps;
  std::int64_t batch = 0;  // of the first size
  double seconds = 0;      // of a step of it, while nothing else runs
};

Result<Probed> probe_kind(const ProbeRequest& request, const DeviceSpec& spec, double seconds, ProbedDevice& kept) {
  ARGOSY_ASSIGN_OR_RETURN(kept.steps, request.subject.on_one_device(spec));
  TrialSteps* const device = kept.steps.get();
  KindProbe probe(spec, *device);
  std::vector<std::int64_t> sizes = batch_sizes(request.subject.batch(), std::ssize(request.devices));
  ARGOSY_ASSIGN_OR_RETURN(bool first_fits, fits(*device, sizes[0]));
  for (; !first_fits && sizes[0] > 1;) {
    sizes = {sizes[0] / 2};
    ARGOSY_ASSIGN_OR_RETURN(first_fits, fits(*device, sizes[0]));
  }
  if (!first_fits) return device->check(sizes[0]);
  Probed probed;
  kept.batch = sizes[0];
  const std::int64_t began = now_nanos();
  double first = 0;  // seconds of a step of sizes[0]
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    const double share = seconds / static_cast<double>(sizes.size());
    if (k > 0) {
      const double guess = first * static_cast<double>(sizes[k]) / static_cast<double>(sizes[0]);
      if (seconds_since(began) + guess * (2 + 2 * kLeastRounds) > seconds * 1.5) continue;
      ARGOSY_ASSIGN_OR_RETURN(const bool also_fits, fits(*device, sizes[k]));
      if (!also_fits) continue;
    }
    std::vector<double> wall;
    ARGOSY_RETURN_IF_ERROR(probe.measure(sizes[k], share, probed, wall));
    if (k == 0) kept.seconds = first = mean_of_most(wall);
    probed.spread = std::max(probed.spread, (at_part(wall, 0.9) - at_part(wall, 0.1)) / at_part(wall, 0.5) / 2);
  }
  return probed;
}

// Returns the number of devices that run together in measure_slowdown(). For devices in host memory it is at most the
// number of cores (and at least 2): the simulator accounts for sharing cores.
int devices_at_once(const std::vector<DeviceSpec>& devices) {
  const int all = static_cast<int>(devices.size());
  return devices[0].kind == DeviceKind::kCuda ? all : std::min(all, std::max(2, available_cores()));
}

using ProbedDevices = std::map<std::string, ProbedDevice>;  // by kind

// Returns the factor by which a device's step takes longer while other devices run one, beyond the effect of sharing
// cores. Moves the steps out of `probed`.
Result<double> measure_slowdown(const ProbeRequest& request, double seconds, ProbedDevices& probed) {
  const auto n = static_cast<std::int64_t>(request.devices.size());
  const std::int64_t batch = (request.subject.batch() + n - 1) / n;
  const auto tried = static_cast<std::size_t>(devices_at_once(request.devices));
  std::vector<std::unique_ptr<TrialSteps>> all;
  double cores = 0;
  for (std::size_t d = 0; d < tried; ++d) {
    const DeviceSpec& spec = request.devices[d];
    std::unique_ptr<TrialSteps> device = std::move(probed[kind_of(spec)].steps);
    if (device == nullptr) {
      ARGOSY_ASSIGN_OR_RETURN(device, request.subject.on_one_device(spec));
    }
    ARGOSY_ASSIGN_OR_RETURN(const bool fit, fits(*device, batch));
    if (!fit) return 1.0;
    ARGOSY_RETURN_IF_ERROR(device->prepare(batch));
    all.push_back(std::move(device));
    cores += spec.cores * spec.speed;
  }
  std::map<std::string, double> alone;  // by kind: seconds of a step
  int steps = 3, to_spread = 0;
  for (std::size_t d = 0; d < all.size(); ++d) {
    double& seconds_alone = alone[kind_of(request.devices[d])];
    if (seconds_alone > 0) continue;
    const ProbedDevice& known = probed[kind_of(request.devices[d])];
    double once = known.seconds;
    if (known.batch != batch) {
      ARGOSY_ASSIGN_OR_RETURN(once, all[d]->step_seconds(nullptr));
    }
    if (d == 0) {
      steps = std::clamp(static_cast<int>(seconds / 2 / std::max(once, 1e-6)), 3, 100);
      to_spread = std::min(kRoundsToSpread, steps - 3);  // a large step spreads its threads by itself
    }
    if (known.batch == batch) {
      seconds_alone = once;
      continue;
    }
    std::vector<double> plain;
    for (int i = 0; i < steps; ++i) {
      ARGOSY_ASSIGN_OR_RETURN(const double one, all[d]->step_seconds(nullptr));
      plain.push_back(one);
    }
    seconds_alone = mean_of_most(std::move(plain));
  }
  const int rounds = to_spread + steps;
  std::vector<std::vector<double>> together(all.size());
  std::vector<Status> ended(all.size());
  std::barrier start(static_cast<std::ptrdiff_t>(all.size()));
  std::vector<std::thread> threads;
  for (std::size_t d = 0; d < all.size(); ++d) {
    threads.emplace_back([&, d] {
      for (int i = 0; i < rounds; ++i) {
        start.arrive_and_wait();  // a step of training begins on all devices, too
        auto plain = all[d]->step_seconds(nullptr);
        if (plain.ok()) together[d].push_back(*plain);
        if (!plain.ok()) ended[d] = plain.status();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (Status& status : ended) ARGOSY_RETURN_IF_ERROR(std::move(status));
  // For each round, the factor of the device that was delayed most, since the others would wait for it. The first
  // rounds do not count: the system may still run several threads on one core.
  std::vector<double> longer;
  for (int i = to_spread; i < rounds; ++i) {
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
  ARGOSY_ASSIGN_OR_RETURN(probes.input_seconds_, request.subject.input_seconds(seconds / 20));
  ProbedDevices probed;
  for (const DeviceSpec& spec : kinds) {
    const std::string kind = kind_of(spec);
    ARGOSY_ASSIGN_OR_RETURN(probes.by_kind_[kind], probe_kind(request, spec, seconds / parts, probed[kind]));
  }
  if (probes.devices_ > 1) {
    probes.at_once_ = devices_at_once(request.devices);
    ARGOSY_ASSIGN_OR_RETURN(probes.slowdown_, measure_slowdown(request, seconds / parts / 3, probed));
  }
  return probes;
}

// The host beside GPUs was not probed as a kind of its own: its ops were measured with the first kind.
const Probed& Probes::of(const DeviceSpec& spec) const {
  const auto found = by_kind_.find(kind_of(spec));
  return found != by_kind_.end() ? found->second : by_kind_.begin()->second;
}

double Probes::slowdown(int devices) const {
  if (devices_ < 2) return 1;
  return 1 + (slowdown_ - 1) * static_cast<double>(std::min(devices, at_once_) - 1) / static_cast<double>(at_once_ - 1);
}

double Probes::spread() const {
  double most = 0;
  for (const auto& [kind, probed] : by_kind_) most = std::max(most, probed.spread);
  return most;
}

}  // namespace argosy
