#include <map>

#include "argosy/base/system/confined_path.h"
#include "argosy/formats/checkpoint/bundle_index.h"
#include "argosy/formats/checkpoint/checkpoint.h"
#include "argosy/formats/checkpoint/checkpoint_io.h"

namespace argosy::tf {

namespace {

class CheckpointMerger {
 public:
  CheckpointMerger(const std::string& prefix, const MergeOptions& options)
      : prefix_(prefix), options_(options), io_({}, options.durable) {}

  // Everything is read and checked before the first file is moved.
  Status merge(std::span<const std::string> pieces) {
    for (const std::string& piece : pieces) {
      auto index = load_index(index_path(piece), true);
      if (!index.ok() && index.status().code() == Code::kNotFound) {
        if (options_.allow_missing) continue;
        return invalid_argument("allow_missing_files was set to false and ", piece, " did not exist.");
      }
      ARGOSY_ASSIGN_OR_RETURN(const BundleIndex found, std::move(index));
      ARGOSY_RETURN_IF_ERROR(take(piece, found));
    }
    if (files_.empty()) return invalid_argument("At least one prefix checkpoint file must exist, but none existed.");
    BundleIndex merged{.shards = static_cast<int>(files_.size()), .tensors = {}};
    for (auto& [key, tensor] : tensors_) merged.tensors.push_back(std::move(tensor));
    ARGOSY_ASSIGN_OR_RETURN(const std::string bytes, build_index(merged));
    ARGOSY_RETURN_IF_ERROR(make_directories(parent_directory(prefix_)));
    for (std::size_t i = 0; i < files_.size(); ++i) {
      const std::string to = data_path(prefix_, static_cast<int>(i), merged.shards);
      if (files_[i] != to) ARGOSY_RETURN_IF_ERROR(io_.rename(files_[i], to));
    }
    ARGOSY_RETURN_IF_ERROR(io_.replace(index_path(prefix_), bytes));
    clean_up(pieces);
    return ok_status();
  }

 private:
  Status take(const std::string& piece, const BundleIndex& index) {
    const auto base = static_cast<int>(files_.size());
    for (int shard = 0; shard < index.shards; ++shard) files_.push_back(data_path(piece, shard, index.shards));
    for (const StoredTensor& t : index.tensors) {
      const auto [at, fresh] = tensors_.emplace(t.key, t);
      StoredTensor& known = at->second;
      if (fresh) {
        known.shard += t.slices.empty() ? base : 0;
        continue;
      }
      if (t.slices.empty() || known.slices.empty()) {
        return invalid_argument("Checkpoint pieces have ", describe_key(t.key), " twice, the second time in ", piece);
      }
      if (known.dtype_number != t.dtype_number || !(known.shape == t.shape)) {
        return invalid_argument("Checkpoint pieces disagree on ", describe_key(t.key), ": ", known.shape, " and, in ",
                                piece, ", ", t.shape);
      }
      ARGOSY_RETURN_IF_ERROR(check_slices(known, t, piece));
      known.slices.insert(known.slices.end(), t.slices.begin(), t.slices.end());
    }
    return ok_status();
  }

  // A reader of the merged checkpoint would refuse slices that overlap. The pieces would be gone by then.
  static Status check_slices(const StoredTensor& known, const StoredTensor& more, const std::string& piece) {
    for (const Slice& slice : more.slices) {
      for (const Slice& other : known.slices) {
        if (!overlap(other, slice, known.shape)) continue;
        return invalid_argument("Checkpoint pieces have slices of ", describe_key(more.key),
                                " that overlap, the second one in ", piece);
      }
    }
    return ok_status();
  }

  // Costs only room when it fails.
  void clean_up(std::span<const std::string> pieces) const {
    for (const std::string& piece : pieces) {
      if (piece != prefix_) (void)io_.remove(index_path(piece));
    }
    if (!options_.delete_old_directories) return;
    for (const std::string& piece : pieces) {
      const std::string directory = parent_directory(piece);
      if (directory != parent_directory(prefix_)) (void)rmdir_confined(directory);
    }
  }

  const std::string& prefix_;
  const MergeOptions& options_;
  CheckpointIo io_;
  std::vector<std::string> files_;  // by shard of the merged checkpoint
  std::map<std::string, StoredTensor> tensors_;
};

}  // namespace

Status merge_checkpoints(std::span<const std::string> pieces, const std::string& prefix, const MergeOptions& options) {
  return CheckpointMerger(prefix, options).merge(pieces);
}

}  // namespace argosy::tf
