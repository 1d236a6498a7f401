// The contents of staging areas: capacities, bytes, and which tuples are there. The kernels are in staging_cpu.cc.
// nullopt means that the operation would block. It has changed nothing then, and WaitQueue tries it again later.
#include "argosy/ops/staging/staged.h"

#include <algorithm>

namespace argosy {

namespace {

std::int64_t bytes_of(const Tuple& tuple) {
  std::int64_t bytes = 0;
  for (const Tensor& t : tuple) bytes += t.valid() ? static_cast<std::int64_t>(t.bytes()) : 0;
  return bytes;
}

Status too_large(std::int64_t bytes, std::int64_t limit) {
  return resource_exhausted("Attempted to insert tensors with combined size of '", bytes,
                            "' bytes into Staging Area with a memory limit of '", limit, "'.");
}

}  // namespace

std::optional<Status> StagedTuples::put(Tuple& tuple, const StagingLimits& limits) {
  const std::int64_t more = bytes_of(tuple);
  if (limits.bytes > 0 && more > limits.bytes) return too_large(more, limits.bytes);
  if (limits.capacity > 0 && size() >= limits.capacity) return std::nullopt;
  if (limits.bytes > 0 && bytes_ + more > limits.bytes) return std::nullopt;
  bytes_ += more;
  tuples_.push_back(std::move(tuple));
  return ok_status();
}

std::optional<Status> StagedTuples::take(Tuple& out) {
  if (tuples_.empty()) return std::nullopt;
  out = std::move(tuples_.front());
  tuples_.pop_front();
  bytes_ -= bytes_of(out);
  return ok_status();
}

std::optional<Status> StagedTuples::peek(std::int64_t index, Tuple& out) const {
  if (index < 0) return invalid_argument("StagePeek: index ", index, " must not be negative");
  if (index >= size()) return std::nullopt;
  out = tuples_[static_cast<std::size_t>(index)];
  return ok_status();
}

void StagedTuples::clear() {
  tuples_.clear();
  bytes_ = 0;
}

namespace {

Status check_indices(std::int64_t key, const std::vector<std::int64_t>& indices, std::int64_t width) {
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (indices[i] < 0 || indices[i] >= width) {
      return invalid_argument("Index '", indices[i], "' for key '", key, "' was out of bounds '", width, "'.");
    }
    if (i > 0 && indices[i] <= indices[i - 1]) return invalid_argument("Indices are not strictly ordered");
  }
  return ok_status();
}

}  // namespace

std::optional<Status> StagedMap::put(std::int64_t key, const std::vector<std::int64_t>& indices, Tuple& values,
                                     std::int64_t width, const StagingLimits& limits) {
  if (Status fits = check_indices(key, indices, width); !fits.ok()) return fits;
  const std::int64_t more = bytes_of(values);
  if (limits.bytes > 0 && more > limits.bytes) return too_large(more, limits.bytes);
  // The capacity does not hold back further values of a key that has some. The key counts already, and nothing can take
  // it before it is complete.
  const bool begun = partial_.contains(key);
  if (!begun && limits.capacity > 0 && size() + incomplete() >= limits.capacity) return std::nullopt;
  if (limits.bytes > 0 && bytes_ + more > limits.bytes) return std::nullopt;
  auto [entry, fresh] = partial_.try_emplace(key, Values(static_cast<std::size_t>(width)));
  Values& all = entry->second;
  for (const std::int64_t i : indices) {
    if (!all[static_cast<std::size_t>(i)].valid()) continue;
    return invalid_argument("The tensor for index '", i, "' for key '", key, "' was already initialized '", width,
                            "'.");
  }
  bytes_ += more;
  for (std::size_t i = 0; i < indices.size(); ++i) all[static_cast<std::size_t>(indices[i])] = std::move(values[i]);
  if (std::all_of(all.begin(), all.end(), [](const Tensor& t) { return t.valid(); })) {
    const std::int64_t whole = bytes_of(all);
    const bool added = complete_.try_emplace(key, std::move(all)).second;
    if (!added) bytes_ -= whole;
    partial_.erase(entry);
  }
  return ok_status();
}

std::optional<Status> StagedMap::get(std::int64_t key, const std::vector<std::int64_t>& indices, bool take,
                                     Tuple& out) {
  const auto found = complete_.find(key);
  if (found == complete_.end()) return std::nullopt;
  Values& all = found->second;
  if (Status fits = check_indices(key, indices, static_cast<std::int64_t>(all.size())); !fits.ok()) return fits;
  for (const std::int64_t i : indices) {
    if (all[static_cast<std::size_t>(i)].valid()) continue;
    return invalid_argument("Tensor at index '", i, "' for key '", key, "' has already been removed.");
  }
  out.clear();
  for (const std::int64_t i : indices) {
    Tensor& value = all[static_cast<std::size_t>(i)];
    out.push_back(value);
    if (take) value = Tensor();
  }
  if (!take) return ok_status();
  bytes_ -= bytes_of(out);
  if (std::none_of(all.begin(), all.end(), [](const Tensor& t) { return t.valid(); })) complete_.erase(found);
  return ok_status();
}

std::optional<Status> StagedMap::take_any(const std::vector<std::int64_t>& indices, std::int64_t& key, Tuple& out) {
  if (complete_.empty()) return std::nullopt;
  key = complete_.begin()->first;  // the least: the map is ordered by key
  return get(key, indices, true, out);
}

void StagedMap::clear() {
  complete_.clear();
  partial_.clear();
  bytes_ = 0;
}

}  // namespace argosy
