#include "argosy/planner/machine_rates.h"

#include <algorithm>

#include "argosy/base/clock.h"
#include "argosy/device/emulated/emulated_gpu.h"
#include "argosy/ops/collective/collective.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/runtime/session/session.h"

namespace argosy {

namespace {

constexpr std::int64_t kSizes[] = {4 << 10, 256 << 10, 2 << 20};  // bytes
constexpr int kChain = 5;       // collectives in a row: more than one, so that a step's start can be told apart
constexpr int kShortChain = 2;  // of large ones
constexpr int kLeastRounds = 3, kMostRounds = 9;  // of each graph
constexpr double kSeconds = 0.03;                 // of each graph, about
constexpr double kLongest = 0.05;                 // seconds of a collective that is measured
constexpr double kShortest = 1e-6;                // seconds of a chain, where other programs make the start look longer

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Returns the seconds of a step: the median of several runs, after two warm-up runs.
Result<double> time_of(Session::Callable& step) {
  for (int i = 0; i < 2; ++i) ARGOSY_RETURN_IF_ERROR(step.run({}, {}));
  std::vector<double> seconds;
  const std::int64_t began = now_nanos();
  while (std::ssize(seconds) < kLeastRounds || (std::ssize(seconds) < kMostRounds && seconds_since(began) < kSeconds)) {
    const std::int64_t start = now_nanos();
    ARGOSY_RETURN_IF_ERROR(step.run({}, {}));
    seconds.push_back(seconds_since(start));
  }
  return median(std::move(seconds));
}

// Returns the seconds of a step with `chain` all-reduces of so many bytes, each of which reads the one before.
Result<double> chain_seconds(const std::shared_ptr<DeviceSet>& device_set, const std::vector<DeviceSpec>& devices,
                             int size, std::int64_t bytes, int chain) {
  Graph graph;
  std::vector<Value> ends;
  for (int r = 0; r < size; ++r) {
    const auto on = graph.device(devices[static_cast<std::size_t>(r)].name.to_string());
    Value value = constant(graph, Tensor::zeros(DType::kFloat32, {bytes / 4}));
    for (int i = 0; i < chain; ++i) {
      value =
          all_reduce({value}, {.group = str_cat("rates_", i), .rank = r, .size = size, .shards = {r}, .total = size},
                     str_cat("rates_", i))[0];
    }
    ends.push_back(value);
  }
  ARGOSY_RETURN_IF_ERROR(graph.status());
  Session session(graph, {.device_set = device_set, .trace_path = ""});
  ARGOSY_ASSIGN_OR_RETURN(const auto step, session.prepare({}, {}, ends));
  return time_of(*step);
}

// Extrapolates the seconds for the next size. If they are above kLongest (slow links), that size is not measured.
double guess_of(const std::vector<std::pair<double, double>>& points, std::int64_t bytes) {
  return points.empty() ? 0 : points.back().second * static_cast<double>(bytes) / points.back().first;
}

Result<Curve> measure_copies(DeviceSet& device_set, const DeviceSpec& spec) {
  Device& device = device_set.device(device_set.find(spec.name));
  std::vector<std::pair<double, double>> points;
  for (const std::int64_t bytes : kSizes) {
    if (const double guess = guess_of(points, bytes); guess > kLongest) {
      if (points.size() == 1) points.emplace_back(bytes, guess);
      break;
    }
    const auto size = static_cast<std::size_t>(bytes);
    ARGOSY_ASSIGN_OR_RETURN(const Buffer from, device_set.device(0).allocator().allocate(size));
    ARGOSY_ASSIGN_OR_RETURN(const Buffer to, device.allocator().allocate(size));
    std::vector<double> seconds;
    const std::int64_t began = now_nanos();
    for (int i = -1; i < kMostRounds && (i < 1 || seconds_since(began) < kSeconds / 2); ++i) {
      const std::int64_t start = now_nanos();
      device.copies().copy(to, from);
      ARGOSY_RETURN_IF_ERROR(device.copies().synchronize());
      if (i >= 0) seconds.push_back(seconds_since(start));
    }
    points.emplace_back(static_cast<double>(bytes), median(std::move(seconds)));
  }
  return Curve(std::move(points));
}

// Returns the same emulated GPUs, with links as fast as memory; null if their links are so already.
Result<std::shared_ptr<DeviceSet>> without_links(const std::vector<DeviceSpec>& devices) {
  const bool linked = std::any_of(devices.begin(), devices.end(), [](const DeviceSpec& d) {
    return d.kind == DeviceKind::kEmulated && d.link_bytes_per_second > 0;
  });
  if (!linked) return std::shared_ptr<DeviceSet>();
  ARGOSY_ASSIGN_OR_RETURN(auto made, make_devices({.devices = "cpu:0"}));
  made.resize(1);
  const auto shutdown = std::make_shared<ShutdownSignal>();
  for (DeviceSpec spec : devices) {
    spec.link_bytes_per_second = 0;
    made.push_back(make_emulated_gpu(std::move(spec), {}, shutdown));
  }
  return std::make_shared<DeviceSet>(std::move(made));
}

Result<std::vector<MachineRates::Group>> measure_groups(const std::shared_ptr<DeviceSet>& device_set,
                                                        const std::vector<DeviceSpec>& devices) {
  const int all = static_cast<int>(devices.size());
  std::vector<MachineRates::Group> groups;
  for (int size = 2; size <= all; size = size < all ? std::min(2 * size, all) : all + 1) {
    MachineRates::Group group{.devices = size};
    std::vector<std::pair<double, double>> points;
    for (const std::int64_t bytes : kSizes) {
      if (const double guess = guess_of(points, bytes); guess > kLongest) {
        if (points.size() == 1) points.emplace_back(bytes, guess);
        break;
      }
      const int length = points.empty() ? kChain : kShortChain;
      ARGOSY_ASSIGN_OR_RETURN(const double chain, chain_seconds(device_set, devices, size, bytes, length));
      if (points.empty()) {
        ARGOSY_ASSIGN_OR_RETURN(group.start, chain_seconds(device_set, devices, size, bytes, 1));
        points.emplace_back(bytes, std::max(kShortest, chain - group.start) / (length - 1));
        group.start = std::max(0.0, group.start - points[0].second);
      } else {
        points.emplace_back(bytes, std::max(kShortest, chain - group.start) / length);
      }
    }
    group.all_reduce = group.work = Curve(std::move(points));
    groups.push_back(std::move(group));
  }
  return groups;
}

double part_of(const Curve& all_reduce, Travel travel, double bytes) {
  if (travel == Travel::kAllReduce) return all_reduce.seconds(bytes);
  const double latency = all_reduce.seconds(0);
  return latency + (all_reduce.seconds(bytes) - latency) / 2;
}

}  // namespace

Result<MachineRates> MachineRates::measure(const std::shared_ptr<DeviceSet>& device_set,
                                           const std::vector<DeviceSpec>& devices) {
  MachineRates rates;
  for (const DeviceSpec& spec : devices) {
    if (!rates.copies_.empty() || !spec.is_gpu()) continue;
    ARGOSY_ASSIGN_OR_RETURN(rates.copies_, measure_copies(*device_set, spec));
  }
  if (devices.size() < 2) return rates;
  ARGOSY_ASSIGN_OR_RETURN(rates.groups_, measure_groups(device_set, devices));
  ARGOSY_ASSIGN_OR_RETURN(const std::shared_ptr<DeviceSet> plain, without_links(devices));
  if (plain == nullptr) return rates;
  ARGOSY_ASSIGN_OR_RETURN(const std::vector<Group> work, measure_groups(plain, devices));
  for (std::size_t i = 0; i < work.size(); ++i) rates.groups_[i].work = work[i].all_reduce;
  return rates;
}

const MachineRates::Group* MachineRates::group_of(int devices) const {
  const auto found = std::find_if(groups_.begin(), groups_.end(), [&](const Group& g) { return g.devices >= devices; });
  return found != groups_.end() ? &*found : groups_.empty() ? nullptr : &groups_.back();
}

double MachineRates::collective_seconds(Travel travel, int devices, double bytes) const {
  const Group* const group = devices > 1 ? group_of(devices) : nullptr;
  return group != nullptr ? part_of(group->all_reduce, travel, bytes) : 0;
}

double MachineRates::collective_work_seconds(Travel travel, int devices, double bytes) const {
  const Group* const group = devices > 1 ? group_of(devices) : nullptr;
  return group != nullptr ? std::min(part_of(group->work, travel, bytes), collective_seconds(travel, devices, bytes))
                          : 0;
}

double MachineRates::start_seconds(int devices) const {
  const Group* const group = devices > 1 ? group_of(devices) : nullptr;
  return group != nullptr ? group->start : 0;
}

}  // namespace argosy
