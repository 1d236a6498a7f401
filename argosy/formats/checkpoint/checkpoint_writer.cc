#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <map>
#include <numeric>

#include "argosy/base/clock.h"
#include "argosy/formats/checkpoint/bundle_index.h"
#include "argosy/formats/checkpoint/checkpoint.h"
#include "argosy/formats/checkpoint/checkpoint_io.h"
#include "argosy/formats/checkpoint/chunked_io.h"
#include "argosy/formats/checkpoint/stored_variant.h"
#include "argosy/formats/checkpoint/string_codec.h"

namespace argosy::tf {

namespace {

constexpr double kDiskMargin = 1.05;

std::string five_digits(int number) {
  const std::string digits = std::to_string(number);
  return std::string(digits.size() < 5 ? 5 - digits.size() : 0, '0') + digits;
}

bool can_be_stored(const Tensor& t) {
  if (t.dtype() != DType::kVariant) return is_plain(t.dtype()) || t.dtype() == DType::kString;
  const auto elements = t.values<Variant>();
  return std::all_of(elements.begin(), elements.end(), [](const Variant& v) { return stored_variant(v) != nullptr; });
}

Status check_names(std::span<const NamedPart> tensors, std::span<const std::size_t> order) {
  for (std::size_t i = 0; i < order.size(); ++i) {
    const NamedPart& t = tensors[order[i]];
    if (t.name.empty() || is_slice_key(t.name)) {
      return invalid_argument("a tensor cannot be saved under the name '", t.name, "'").with_id("ARG-CKPT-009");
    }
    if (i > 0 && tensors[order[i - 1]].name == t.name && !(t.part && tensors[order[i - 1]].part)) {
      return invalid_argument("two tensors are to be saved under the name '", t.name, "'").with_id("ARG-CKPT-009");
    }
    if (!can_be_stored(t.tensor)) {
      return unimplemented("tensor '", t.name, "' has type ", dtype_name(t.tensor.dtype()), ", which cannot be saved")
          .with_id("ARG-CKPT-006")
          .with_hint("save the value that it refers to");
    }
    if (t.part && !(slice_shape(t.part->slice, t.part->whole) == t.tensor.shape())) {
      return invalid_argument("Slice in shape_and_slice specification does not match the shape of the tensor to save: ",
                              slice_shape(t.part->slice, t.part->whole), ", tensor '", t.name, "': ", t.tensor.shape());
    }
  }
  return ok_status();
}

Status check_room(const std::string& directory, std::int64_t bytes) {
  struct statvfs disk = {};
  if (::statvfs(directory.c_str(), &disk) != 0) return ok_status();  // the write will tell
  const double room = static_cast<double>(disk.f_bavail) * static_cast<double>(disk.f_frsize);
  if (room >= static_cast<double>(bytes) * kDiskMargin) return ok_status();
  return resource_exhausted("a checkpoint of ", format_bytes(static_cast<std::uint64_t>(bytes)), " does not fit in ",
                            directory, ": ", format_bytes(static_cast<std::uint64_t>(room)), " are free")
      .with_id("ARG-CKPT-010")
      .with_hint("free space there, or save to a disk with room");
}

class CheckpointWriter {
 public:
  CheckpointWriter(const std::string& prefix, const WriteOptions& options)
      : prefix_(prefix),
        directory_(parent_directory(prefix)),
        options_(options),
        io_(options.io_hook, options.durable) {}

  Status write(std::span<const NamedPart> tensors) {
    Status status = try_write(tensors);
    // After a crash the next saver cleans up.
    if (!status.ok()) {
      for (const std::string& path : temporaries_) (void)io_.remove(path);
    }
    return status;
  }

 private:
  Status try_write(std::span<const NamedPart> tensors) {
    std::vector<std::size_t> order(tensors.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](auto a, auto b) { return tensors[a].name < tensors[b].name; });
    ARGOSY_RETURN_IF_ERROR(check_names(tensors, order));
    lay_out(tensors, order);
    ARGOSY_RETURN_IF_ERROR(check_room(directory_, total_bytes_));
    ARGOSY_RETURN_IF_ERROR(write_data());
    ARGOSY_RETURN_IF_ERROR(add_wholes(tensors));
    ARGOSY_RETURN_IF_ERROR(write_index());
    return commit();
  }

  // Which tensor lies where. Data goes in the order of names, cut into shards of about equal size.
  void lay_out(std::span<const NamedPart> tensors, std::span<const std::size_t> order) {
    const int wanted = std::clamp(options_.shards, 1, 99999);
    shards_ = wanted;
    // Replacing a checkpoint in one step needs other names for the new data than the old index refers to: the same
    // number of files under a total that is one higher, the first of which does not exist and holds nothing.
    const auto old = load_index(index_path(prefix_));
    if (old.ok() && old->shards == wanted) shards_ = wanted + 1;
    const int first_shard = shards_ - wanted;

    index_.shards = shards_;
    for (const std::size_t i : order) {
      const Tensor& tensor = tensors[i].tensor;
      StoredTensor stored;
      stored.key = tensors[i].part ? slice_key(tensors[i].name, tensors[i].part->slice) : tensors[i].name;
      stored.dtype = tensor.dtype();
      stored.shape = tensor.shape();
      const char* memory = tensor.raw_as<const char>();
      stored.bytes = static_cast<std::int64_t>(tensor.bytes());
      if (!is_plain(tensor.dtype())) {
        std::string& encoded = strings_.emplace_back();
        stored.crc =
            tensor.dtype() == DType::kString ? encode_strings(tensor, encoded) : encode_variants(tensor, encoded);
        memory = encoded.data();
        stored.bytes = static_cast<std::int64_t>(encoded.size());
      }
      memory_.push_back(memory);
      total_bytes_ += stored.bytes;
      index_.tensors.push_back(std::move(stored));
    }
    std::vector<std::int64_t> ends(static_cast<std::size_t>(shards_), 0);
    std::int64_t placed = 0;
    for (StoredTensor& t : index_.tensors) {
      const auto share = static_cast<int>(
          total_bytes_ == 0 ? 0 : static_cast<double>(placed) * wanted / static_cast<double>(total_bytes_));
      t.shard = first_shard + std::min(share, wanted - 1);
      t.offset = ends[static_cast<std::size_t>(t.shard)];
      ends[static_cast<std::size_t>(t.shard)] += t.bytes;
      placed += t.bytes;
    }
    for (int shard = first_shard; shard < shards_; ++shard) data_shards_.push_back(shard);
  }

  Result<File> create_temporary(const std::string& path) {
    temporaries_.push_back(temporary_path(path));
    return io_.create(temporaries_.back());
  }

  Status write_data() {
    std::vector<File> files;
    for (const int shard : data_shards_) {
      ARGOSY_ASSIGN_OR_RETURN(File file, create_temporary(data_path(prefix_, shard, shards_)));
      files.push_back(std::move(file));
    }
    std::vector<OutputRun> runs;
    for (std::size_t i = 0; i < index_.tensors.size(); ++i) {
      const StoredTensor& t = index_.tensors[i];
      File& file = files[static_cast<std::size_t>(t.shard - data_shards_.front())];
      runs.push_back({&file, t.offset, t.bytes, memory_[i]});
    }
    for (File& file : files) ARGOSY_RETURN_IF_ERROR(io_.before("write", file.path()));
    ARGOSY_ASSIGN_OR_RETURN(const std::vector<std::uint32_t> crcs, write_runs(runs));
    for (std::size_t i = 0; i < crcs.size(); ++i) {
      if (is_plain(index_.tensors[i].dtype)) index_.tensors[i].crc = crcs[i];
    }
    for (File& file : files) ARGOSY_RETURN_IF_ERROR(io_.finish(file));
    return ok_status();
  }

  // What slices belong to has an entry too, which names them.
  Status add_wholes(std::span<const NamedPart> tensors) {
    std::map<std::string_view, StoredTensor> wholes;
    for (const NamedPart& t : tensors) {
      if (!t.part) continue;
      StoredTensor& whole = wholes[t.name];
      if (whole.slices.empty()) {
        whole.key = t.name;
        whole.dtype = t.tensor.dtype();
        whole.shape = t.part->whole;
      }
      if (whole.dtype != t.tensor.dtype() || !(whole.shape == t.part->whole)) {
        return invalid_argument("two slices of '", t.name, "' are of tensors of unlike shape or dtype: ", whole.shape,
                                " and ", t.part->whole);
      }
      for (const Slice& other : whole.slices) {
        if (!overlap(other, t.part->slice, whole.shape)) continue;
        return invalid_argument("two slices of '", t.name, "' overlap");
      }
      whole.slices.push_back(t.part->slice);
    }
    for (auto& [name, whole] : wholes) index_.tensors.push_back(std::move(whole));
    std::sort(index_.tensors.begin(), index_.tensors.end(),
              [](const StoredTensor& a, const StoredTensor& b) { return a.key < b.key; });
    for (std::size_t i = 1; i < index_.tensors.size(); ++i) {
      if (index_.tensors[i - 1].key != index_.tensors[i].key) continue;
      return invalid_argument("a tensor is to be saved whole and in slices: ", describe_key(index_.tensors[i].key));
    }
    return ok_status();
  }

  Status write_index() {
    ARGOSY_ASSIGN_OR_RETURN(const std::string bytes, build_index(index_));
    ARGOSY_ASSIGN_OR_RETURN(File file, create_temporary(index_path(prefix_)));
    ARGOSY_RETURN_IF_ERROR(io_.before("write", file.path()));
    ARGOSY_RETURN_IF_ERROR(file.write(bytes));
    return io_.finish(file);
  }

  // Data first, durably; the index makes it a checkpoint.
  Status commit() {
    std::size_t next = 0;
    for (const int shard : data_shards_) {
      std::string& path = temporaries_[next++];
      const std::string final_path = data_path(prefix_, shard, shards_);
      ARGOSY_RETURN_IF_ERROR(io_.rename(path, final_path));
      path = final_path;  // still to be removed if the index does not follow
    }
    ARGOSY_RETURN_IF_ERROR(io_.sync_directory(directory_));
    ARGOSY_RETURN_IF_ERROR(io_.rename(temporaries_[next], index_path(prefix_)));
    temporaries_.clear();
    ARGOSY_RETURN_IF_ERROR(io_.sync_directory(directory_));
    remove_leftovers();
    return ok_status();
  }

  // Data files of what was replaced. They cost only room, so a failure here is no failure of the save.
  void remove_leftovers() const {
    const auto names = list_directory(directory_);
    if (!names.ok()) return;
    const std::string base = prefix_.substr(prefix_.rfind('/') + 1) + ".data-";
    for (const std::string& name : *names) {
      if (!name.starts_with(base) || is_temporary(name)) continue;
      const std::string path = join_path(directory_, name);
      const bool ours = std::any_of(data_shards_.begin(), data_shards_.end(), [&](int shard) {
        return data_path(base.substr(0, base.size() - 6), shard, shards_) == name;
      });
      if (!ours) (void)io_.remove(path);
    }
  }

  const std::string& prefix_;
  std::string directory_;
  const WriteOptions& options_;
  CheckpointIo io_;
  int shards_ = 1;
  std::vector<int> data_shards_;
  BundleIndex index_;
  std::vector<const char*> memory_;  // of each tensor of the index
  std::deque<std::string> strings_;  // encoded tensors of strings and variants
  std::int64_t total_bytes_ = 0;
  std::vector<std::string> temporaries_;  // data files, then the index
};

}  // namespace

std::string index_path(std::string_view prefix) { return str_cat(prefix, ".index"); }
std::string data_path(std::string_view prefix, int shard, int shards) {
  return str_cat(prefix, ".data-", five_digits(shard), "-of-", five_digits(shards));
}

std::string temporary_path(const std::string& path) { return str_cat(path, ".tmp-", ::getpid(), "-", now_nanos()); }
bool is_temporary(std::string_view name) { return name.find(".tmp-") != std::string_view::npos; }

Status CheckpointIo::replace(const std::string& path, std::string_view bytes) const {
  const std::string temporary = temporary_path(path);
  const auto write = [&]() -> Status {
    ARGOSY_ASSIGN_OR_RETURN(File file, create(temporary));
    ARGOSY_RETURN_IF_ERROR(before("write", temporary));
    ARGOSY_RETURN_IF_ERROR(file.write(bytes));
    ARGOSY_RETURN_IF_ERROR(finish(file));
    ARGOSY_RETURN_IF_ERROR(rename(temporary, path));
    return sync_directory(parent_directory(path));
  };
  Status status = write();
  if (!status.ok()) (void)remove(temporary);
  return status;
}

Status write_checkpoint(const std::string& prefix, std::span<const NamedTensor> tensors, const WriteOptions& options) {
  std::vector<NamedPart> parts;
  parts.reserve(tensors.size());
  for (const NamedTensor& t : tensors) parts.push_back({t.name, t.tensor});
  return write_parts(prefix, parts, options);
}

Status write_parts(const std::string& prefix, std::span<const NamedPart> parts, const WriteOptions& options) {
  return CheckpointWriter(prefix, options).write(parts);
}

}  // namespace argosy::tf
