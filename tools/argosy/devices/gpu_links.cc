#include "tools/argosy/devices/gpu_links.h"

#include <cstdio>

#include "argosy/base/str.h"
#include "tools/argosy/cli/table.h"

namespace argosy::cli {

namespace {

std::string side(int gpu) { return gpu == LinkFacts::kHost ? "host" : str_cat("gpu:", gpu); }
std::string name(const LinkFacts& link) { return str_cat(side(link.from), " to ", side(link.to)); }
bool between_gpus(const LinkFacts& link) { return link.from != LinkFacts::kHost && link.to != LinkFacts::kHost; }

std::string cell(const LinkFacts& link) {
  if (!link.tried) return "?";
  if (!link.intact) return "WRONG DATA";
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", link.bytes_per_second * 1e-9);
  return between_gpus(link) ? str_cat(text, link.direct ? " direct" : " by host") : std::string(text);
}

std::string by(const CollectiveFacts& facts) {
  const std::string who = facts.way == "NCCL" ? "NCCL" : facts.way == "host" ? "the host" : "kernels of our own";
  return str_cat("by ", who, " (", facts.reason, ")");
}

}  // namespace

std::string links_table(const GpuLinks& all) {
  if (all.links.empty()) return {};
  std::vector<int> sides = {LinkFacts::kHost};
  sides.insert(sides.end(), all.group.begin(), all.group.end());
  std::vector<std::vector<std::string>> rows = {{"from \\ to"}};
  for (const int to : sides) rows[0].push_back(side(to));
  for (const int from : sides) {
    rows.push_back({side(from)});
    for (const int to : sides) {
      std::string text = "-";
      for (const LinkFacts& link : all.links) {
        if (link.from == from && link.to == to) text = cell(link);
      }
      rows.back().push_back(std::move(text));
    }
  }
  std::string lines;
  for (const LinkFacts& link : all.links) {
    if (!link.problem.empty()) {
      lines += str_cat(name(link), ": ", link.problem, "\n");
    } else if (!link.direct) {
      lines += str_cat(name(link), " by the host: ", link.why_not, "\n");
    }
  }
  return format_table(rows) + lines;
}

std::string links_sums(const GpuLinks& all) {
  if (all.group.size() < 2 || all.sums.way.empty()) return {};
  std::vector<std::string> names;
  for (const int gpu : all.group) names.push_back(side(gpu));
  return str_cat("of ", str_join(names), ": ", by(all.sums), "; with --reproducible: ", by(all.ordered_sums));
}

std::vector<std::string> links_advice(const GpuLinks& all) {
  std::vector<std::string> list;
  for (const LinkFacts& link : all.links) {
    if (!link.problem.empty()) {
      list.push_back(str_cat("the link from ", name(link), ": ", link.problem));
    } else if (link.reaches && !link.direct) {
      list.push_back(str_cat("the link from ", name(link), " goes by the host though the GPUs reach each other: ",
                             link.why_not, "; docs/gpu-status.md has what to check"));
    }
  }
  return list;
}

nlohmann::ordered_json links_json(const GpuLinks& all) {
  nlohmann::ordered_json links = nlohmann::ordered_json::array();
  for (const LinkFacts& link : all.links) {
    nlohmann::ordered_json one = {{"from", side(link.from)},
                                  {"to", side(link.to)},
                                  {"peer_access", between_gpus(link) ? nlohmann::ordered_json(link.reaches) : nullptr},
                                  {"way", link.direct ? "direct" : "host"},
                                  {"why_not_direct", link.why_not},
                                  {"tried", link.tried},
                                  {"intact", link.intact},
                                  {"bytes_per_second", nullptr},
                                  {"problem", link.problem}};
    if (link.bytes_per_second > 0) one["bytes_per_second"] = link.bytes_per_second;
    links.push_back(std::move(one));
  }
  const auto sums = [](const CollectiveFacts& facts) {
    return nlohmann::ordered_json{{"way", facts.way}, {"reason", facts.reason}};
  };
  return {{"links", links},
          {"group", all.group},
          {"collectives", sums(all.sums)},
          {"collectives_reproducible", sums(all.ordered_sums)}};
}

}  // namespace argosy::cli
