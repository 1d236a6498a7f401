#include <algorithm>
#include <map>

#include "argosy/runtime/step/step.h"

namespace argosy {

namespace {
constexpr std::size_t kMaxLines = 40;

std::string scope_of(const std::string& node) {
  const std::size_t slash = node.find('/');
  return slash == std::string::npos ? node : node.substr(0, slash);
}
}  // namespace

PlacementReport report_of(const Graph& graph, const DevicePlacement& placement) {
  PlacementReport report;
  report.rows.reserve(placement.device.size());
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    const Node& n = graph.node({i});
    report.rows.push_back({n.name, n.op->name, placement.device_of({i}), placement.reason_of({i})});
  }
  return report;
}

PlacementReport StepInfo::report() const {
  PlacementReport report = whole != nullptr ? *whole : report_of(graph->graph, placement);
  report.passes = passes;
  return report;
}

std::string PlacementReport::summary() const {
  std::map<std::string, std::map<std::string, int>> scopes_by_device;
  std::map<std::string, int> moved;
  for (const Row& row : rows) {
    ++scopes_by_device[row.device][scope_of(row.node)];
    if (row.reason.starts_with("moved")) ++moved[str_cat(row.op, ": ", row.reason)];
  }
  std::vector<std::string> lines;
  for (const std::string& pass : passes) lines.push_back(str_cat("pass ", pass));
  lines.push_back(str_cat("placement of ", rows.size(), " nodes"));
  for (const auto& [device, scopes] : scopes_by_device) {
    int total = 0;
    std::vector<std::pair<int, std::string>> largest;
    for (const auto& [scope, n] : scopes) {
      total += n;
      largest.emplace_back(n, scope);
    }
    std::sort(largest.begin(), largest.end(), [](const auto& a, const auto& b) {
      return a.first > b.first || (a.first == b.first && a.second < b.second);
    });
    std::string line = str_cat("  ", device, "  ", total, " nodes: ");
    for (std::size_t i = 0; i < largest.size() && i < 8; ++i) {
      line += str_cat(i > 0 ? ", " : "", largest[i].second,
                      largest[i].first > 1 ? str_cat(" (", largest[i].first, ")") : "");
    }
    if (largest.size() > 8) line += str_cat(", and ", largest.size() - 8, " more scopes");
    lines.push_back(line);
  }
  for (const auto& [what, n] : moved) {
    if (lines.size() + 1 >= kMaxLines) break;
    lines.push_back(str_cat("  ", n, " x ", what));
  }
  return str_join(lines, "\n") + "\n";
}

}  // namespace argosy
