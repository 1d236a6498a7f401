#include "argosy/planner/op_times.h"

#include <algorithm>

namespace argosy {

namespace {

constexpr double kLaunchSeconds = 3e-7;  // of a kernel that has nothing to do
// Rates of an op are not extrapolated to nodes with more than so many times the work: small nodes mostly measure
// launches.
constexpr double kFarSmaller = 4;

// The work of a node: one number that is proportional to its time as the batch grows. A byte counts as one operation: a
// core does about one while memory moves a byte. Only ratios of works matter.
double work_of(const Cost& cost) { return cost.flops + cost.bytes; }

// Returns the seconds for this work, on the curve through a node's points (work, seconds). Beyond them the time,
// without the launch, grows with the work.
double at(const std::vector<std::pair<double, double>>& points, double work) {
  double most = 0, least = 1e300;
  for (const auto& [w, seconds] : points) most = std::max(most, w), least = std::min(least, w);
  const Curve curve(points);
  if (work >= least && work <= most) return curve.seconds(work);
  const double edge = work > most ? most : least, seconds = curve.seconds(edge);
  if (edge <= 0) return seconds;
  if (work > most && curve.slope() > 0) return curve.seconds(work);
  return kLaunchSeconds + std::max(0.0, seconds - kLaunchSeconds) * work / edge;
}

// "Relu/replica_1/fused" is a copy of "Relu/fused".
std::string original_name(std::string_view name) {
  std::string original(name);
  constexpr std::string_view kCopy = "/replica_";
  for (std::size_t at = original.find(kCopy); at != std::string::npos; at = original.find(kCopy, at)) {
    const std::size_t end = original.find_first_not_of("0123456789", at + kCopy.size());
    original.erase(at, end == std::string::npos ? end : end - at);
  }
  return original;
}

}  // namespace

void OpTimes::add(std::string_view name, std::string_view op, const Cost& cost, double seconds) {
  auto& points = nodes_[{std::string(name), std::string(op)}];
  const double work = work_of(cost);
  const auto same = std::find_if(points.begin(), points.end(), [&](const auto& p) { return p.first == work; });
  // The same work again, at another batch: an update. The faster run was disturbed less.
  if (same != points.end()) same->second = std::min(same->second, seconds);
  if (same == points.end()) points.emplace_back(work, seconds);
  for (Sum* sum : {&ops_[std::string(op)], cost.flops > cost.bytes ? &by_arithmetic_ : &by_memory_}) {
    sum->work += work;
    sum->seconds += seconds;
    sum->runs += 1;
    sum->most = std::max(sum->most, work);
  }
}

double OpTimes::Sum::of(double node_work) const {
  const double launch = std::min(kLaunchSeconds, seconds / runs);
  if (work <= 0) return launch;
  return launch + node_work * std::max(0.0, seconds - launch * runs) / work;
}

const std::vector<std::pair<double, double>>* OpTimes::find(std::string_view name, std::string_view op) const {
  Key key{original_name(name), std::string(op)};
  for (;;) {
    const auto found = nodes_.find(key);
    if (found != nodes_.end()) return &found->second;
    const std::size_t slash = key.name.rfind('/');
    if (slash == std::string::npos) return nullptr;
    key.name.resize(slash);
  }
}

double OpTimes::seconds(std::string_view name, std::string_view op, const Cost& cost) const {
  ++asked_;
  const double work = work_of(cost);
  if (const auto* points = find(name, op); points != nullptr) {
    ++measured_;
    return at(*points, work);
  }
  if (const auto like = ops_.find(op); like != ops_.end() && like->second.most * kFarSmaller >= work) {
    return like->second.of(work);
  }
  const bool arithmetic = cost.flops > cost.bytes;
  for (const Sum* sum : {arithmetic ? &by_arithmetic_ : &by_memory_, arithmetic ? &by_memory_ : &by_arithmetic_}) {
    if (sum->work > 0) return sum->of(work);
  }
  return kLaunchSeconds;
}

}  // namespace argosy
