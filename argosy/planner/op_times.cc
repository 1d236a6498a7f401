#include "argosy/planner/op_times.h"

#include <algorithm>

namespace argosy {

namespace {

constexpr double kLaunchSeconds = 3e-7;  // of a kernel that has nothing to do

// One number that grows with the batch as the time does. A byte counts as much as an operation: about what a core does
// in the time that memory takes for it, and only ratios matter.
double work_of(const Cost& cost) { return cost.flops + cost.bytes; }

// Through the points of a node. Beyond them the time grows in proportion to the work.
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

}  // namespace

void OpTimes::add(std::string_view name, std::string_view op, const Cost& cost, double seconds) {
  auto& points = nodes_[{std::string(name), std::string(op)}];
  const double work = work_of(cost);
  const auto same = std::find_if(points.begin(), points.end(), [&](const auto& p) { return p.first == work; });
  // The same work again, at another batch: an update. The faster run was disturbed less.
  if (same != points.end()) same->second = std::min(same->second, seconds);
  if (same == points.end()) points.emplace_back(work, seconds);
  for (Sum* sum : {&ops_[std::string(op)], &all_}) {
    sum->work += work;
    sum->seconds += seconds;
    sum->runs += 1;
  }
}

const std::vector<std::pair<double, double>>* OpTimes::find(std::string_view name, std::string_view op) const {
  for (;;) {
    const auto found = nodes_.find({std::string(name), std::string(op)});
    if (found != nodes_.end()) return &found->second;
    const std::size_t slash = name.rfind('/');
    if (slash == std::string_view::npos) return nullptr;
    name = name.substr(0, slash);
  }
}

double OpTimes::seconds(std::string_view name, std::string_view op, const Cost& cost) const {
  ++asked_;
  const double work = work_of(cost);
  if (const auto* points = find(name, op); points != nullptr) {
    ++measured_;
    return at(*points, work);
  }
  const auto like = ops_.find(op);
  const Sum& sum = like != ops_.end() ? like->second : all_;
  if (sum.work <= 0) return kLaunchSeconds;
  const double launch = sum.runs > 0 ? std::min(kLaunchSeconds, sum.seconds / sum.runs) : kLaunchSeconds;
  return launch + work * std::max(0.0, sum.seconds - launch * sum.runs) / sum.work;
}

}  // namespace argosy
