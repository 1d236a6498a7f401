#include "argosy/strategy/data_parallel/step_summary.h"

#include <algorithm>

#include "argosy/base/str.h"

namespace argosy {

namespace {

std::string_view words(PlacementKind kind) {
  switch (kind) {
    case PlacementKind::kPartialMean: return "a mean over the batch";
    case PlacementKind::kPartialWeighted: return "a weighted mean over the batch";
    case PlacementKind::kShard:
    case PlacementKind::kPartialSum: return "a sum over the batch";
    case PlacementKind::kReplicate: return "made of sums over the batch";
    default: return "none";
  }
}

std::string count(std::size_t n, const char* what) { return str_cat(n, " ", what, n == 1 ? "" : "s"); }

// ", 12 sums in 3 all-reduces (0.3 MiB, 4.0 MiB, size of the batch)". Zero bytes: the size depends on the batch.
std::string buckets(std::size_t sums, const std::vector<std::size_t>& bytes, const char* what) {
  constexpr std::size_t kMostShown = 8;
  if (bytes.empty()) return "";
  std::vector<std::string> sizes;
  for (const std::size_t b : bytes) sizes.push_back(b == 0 ? "size of the batch" : format_bytes(b));
  const auto [least, most] = std::minmax_element(bytes.begin(), bytes.end());
  const std::string shown =
      sizes.size() <= kMostShown ? str_join(sizes) : str_cat(format_bytes(*least), " to ", format_bytes(*most));
  return str_cat(", ", count(sums, "sum"), " in ", count(sizes.size(), what), " (", shown, ")");
}

std::string losses_text(const std::vector<PlacementKind>& losses) {
  if (losses.empty()) return "";
  std::vector<std::string> kinds;
  for (const PlacementKind loss : losses) {
    std::string reduction(words(loss));
    if (std::find(kinds.begin(), kinds.end(), reduction) == kinds.end()) kinds.push_back(std::move(reduction));
  }
  const std::size_t n = losses.size();
  return str_cat(", ", n == 1 ? "loss" : str_cat(n, " losses"), ": ", str_join(kinds));
}

std::string named(const std::vector<ReplicationNote>& notes, ReplicationNote::Kind kind) {
  constexpr std::size_t kMostNamed = 3;
  std::vector<std::string> nodes;
  std::size_t more = 0;
  for (const ReplicationNote& note : notes) {
    if (note.kind != kind) continue;
    if (nodes.size() == kMostNamed) {
      ++more;
    } else {
      nodes.push_back(str_cat("'", note.node, "' (", note.op, ")"));
    }
  }
  return more == 0 ? str_join(nodes) : str_cat(str_join(nodes), " and ", more, " more");
}

}  // namespace

std::string summary_text(const StepSummary& step) {
  const ReplicaLayout& layout = step.layout;
  std::string text = count(layout.devices.size(), "device");
  if (layout.accumulate > 1) text += str_cat(", ", layout.accumulate, " micro-batches");
  if (layout.shards() != static_cast<int>(layout.devices.size()) * layout.accumulate)
    text += str_cat(", ", layout.shards(), " shards");
  if (layout.shards() > 1 && step.gathered > 0) text += ", by sharding rules";
  text += losses_text(step.losses);
  if (layout.shards() == 1) return text;
  const bool scatters = step.zero != nullptr && !step.zero->scatter_bytes.empty();
  if (scatters) text += buckets(static_cast<std::size_t>(step.zero->sums), step.zero->scatter_bytes, "reduce-scatter");
  text += buckets(step.sums, step.bucket_bytes, "all-reduce");
  if (!scatters && step.bucket_bytes.empty() && step.sums > 0)
    text += str_cat(", ", count(step.sums, "sum"), " over its micro-batches");
  if (step.joined > 0) text += str_cat(", rows of ", count(static_cast<std::size_t>(step.joined), "tensor"), " joined");
  if (step.gathered > 0) text += str_cat(", ", count(static_cast<std::size_t>(step.gathered), "value"), " gathered");
  if (step.zero != nullptr) text += str_cat(", ", zero_text(*step.zero, layout.devices.size()));
  if (const std::string coupled = named(step.notes, ReplicationNote::Kind::kMemory); !coupled.empty())
    text += str_cat(", micro-batches run side by side for: ", coupled);
  return text;
}

}  // namespace argosy
