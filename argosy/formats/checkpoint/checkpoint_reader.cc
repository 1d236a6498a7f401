#include <algorithm>
#include <cstring>
#include <optional>

#include "argosy/base/system/file.h"
#include "argosy/formats/checkpoint/bundle_index.h"
#include "argosy/formats/checkpoint/checkpoint.h"
#include "argosy/formats/checkpoint/chunked_io.h"
#include "argosy/formats/checkpoint/region.h"
#include "argosy/formats/checkpoint/stored_variant.h"
#include "argosy/formats/checkpoint/string_codec.h"
#include "argosy/formats/proto/crc32c.h"

namespace argosy::tf {

namespace {

std::string hex(std::uint32_t value) {
  std::string text = "0x";
  for (int shift = 28; shift >= 0; shift -= 4) text += "0123456789abcdef"[(value >> shift) & 15];
  return text;
}

Status too_few_slices(std::string_view name) {
  return invalid_argument("Does not have sufficient slices for partitioned tensor ", name);
}

// A byte other than 0 and 1 is no C++ bool.
void make_bools(const Tensor& t) {
  auto* bytes = t.raw_as<std::uint8_t>();
  for (std::int64_t i = 0; i < t.elements(); ++i) bytes[i] = bytes[i] != 0 ? 1 : 0;
}

}  // namespace

struct CheckpointReader::Impl {
  std::string prefix;
  BundleIndex index;
  std::vector<CheckpointEntry> entries;
  std::vector<std::optional<File>> files;  // by shard; only those that hold something

  const File& file(const StoredTensor& t) const { return *files[static_cast<std::size_t>(t.shard)]; }

  Status damaged(const StoredTensor& t, std::string_view what) const {
    return data_loss(describe_key(t.key), ": ", t.bytes, " bytes at byte ", t.offset, " of ", file(t).path(), ": ",
                     what)
        .with_id("ARG-CKPT-004")
        .with_hint("use the checkpoint before this one");
  }

  Status open_files() {
    files.resize(static_cast<std::size_t>(index.shards));
    std::vector<std::int64_t> sizes(files.size(), 0);
    for (const StoredTensor& t : index.tensors) {
      if (!t.slices.empty()) continue;
      const auto shard = static_cast<std::size_t>(t.shard);
      if (!files[shard]) {
        Result<File> file = File::open(data_path(prefix, t.shard, index.shards));
        if (!file.ok()) {
          const Status why = std::move(file).status();
          return Status(
                     why.code() == Code::kNotFound ? Code::kDataLoss : why.code(),
                     str_cat("checkpoint ", prefix, ": data file ", t.shard, " of ", index.shards, ": ", why.message()))
              .with_id("ARG-CKPT-004");
        }
        ARGOSY_ASSIGN_OR_RETURN(sizes[shard], file->size());
        files[shard] = *std::move(file);
      }
      if (t.offset + t.bytes > sizes[shard]) {
        return damaged(t, str_cat("the file has only ", sizes[shard], " bytes"));
      }
    }
    return ok_status();
  }

  void list_entries() {
    for (const StoredTensor& t : index.tensors) {
      if (is_slice_key(t.key)) continue;
      CheckpointEntry entry{t.key, t.dtype, t.dtype_number, t.shape, t.bytes, static_cast<int>(t.slices.size())};
      for (const Slice& slice : t.slices) entry.bytes += index.find(slice_key(t.key, slice))->bytes;
      entries.push_back(std::move(entry));
    }
  }

  Result<const StoredTensor*> stored(const std::string& name) const {
    const StoredTensor* t = is_slice_key(name) ? nullptr : index.find(name);
    if (t != nullptr) return t;
    std::vector<std::string> names;
    for (const CheckpointEntry& e : entries) names.push_back(e.name);
    const std::string near = nearest_word(name, names);
    return not_found("checkpoint ", prefix, " has no tensor '", name, "'; it has ", names.size(), " tensors",
                     near.empty() ? "" : str_cat(", the nearest name is '", near, "'"))
        .with_id("ARG-CKPT-005")
        .with_hint(str_cat("argosy ckpt ls ", prefix));
  }

  Status readable(const StoredTensor& t) const {
    if (is_plain(t.dtype) || t.dtype == DType::kString || t.dtype == DType::kVariant) return ok_status();
    return unimplemented(
               "tensor '", t.key, "' of checkpoint ", prefix, " has type ",
               t.dtype == DType::kInvalid ? str_cat("number ", t.dtype_number) : std::string(dtype_name(t.dtype)),
               ", which cannot be read")
        .with_id("ARG-CKPT-006");
  }

  // One piece of a tensor: all of it, or one slice into memory of its own.
  struct Part {
    const StoredTensor* stored;
    Tensor to;
  };

  Status read_parts(std::span<const Part> parts) const {
    std::vector<Run> runs;
    std::vector<const StoredTensor*> of_run;
    for (const Part& p : parts) {
      if (!is_plain(p.stored->dtype)) {
        ARGOSY_RETURN_IF_ERROR(read_strings(p));
        continue;
      }
      runs.push_back({&file(*p.stored), p.stored->offset, p.stored->bytes, p.to.raw_as<char>()});
      of_run.push_back(p.stored);
    }
    return read_and_check(runs, of_run);
  }

  Status read_and_check(std::span<const Run> runs, std::span<const StoredTensor* const> owners) const {
    std::size_t failed = 0;
    auto crcs = read_runs(runs, &failed);
    if (!crcs.ok()) return damaged(*owners[failed], crcs.status().message());
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const StoredTensor& t = *owners[i];
      if (!crc_agrees(t.crc, (*crcs)[i])) {
        return damaged(t, str_cat("checksum ", hex((*crcs)[i]), ", the index says ", hex(t.crc)));
      }
    }
    return ok_status();
  }

  Result<std::string> stored_bytes(const StoredTensor& t) const {
    std::string bytes(static_cast<std::size_t>(t.bytes), '\0');
    ARGOSY_RETURN_IF_ERROR(file(t).read_at(t.offset, bytes.data(), bytes.size()));
    return bytes;
  }

  Status read_strings(const Part& p) const {
    const StoredTensor& t = *p.stored;
    ARGOSY_ASSIGN_OR_RETURN(const std::string bytes, stored_bytes(t));
    const bool wanted = p.to.valid();
    const auto crc = t.dtype == DType::kVariant
                         ? decode_variants(bytes, t.shape.elements(), wanted ? p.to.data<Variant>() : nullptr)
                         : decode_strings(bytes, t.shape.elements(), wanted ? p.to.data<std::string>() : nullptr);
    if (!crc.ok()) return damaged(t, crc.status().message());
    if (!crc_agrees(t.crc, *crc)) {
      return damaged(t, str_cat("checksum ", hex(*crc), ", the index says ", hex(t.crc)));
    }
    return ok_status();
  }

  // REQUIRES: dtype and shape of the tensors are those stored.
  Status read_tensors(std::span<const StoredTensor* const> stored_tensors, std::span<const Tensor> to) const {
    std::vector<Part> parts;
    struct Placed {
      std::size_t tensor, part;
      const Slice* slice;
    };
    std::vector<Placed> placed;
    for (std::size_t i = 0; i < to.size(); ++i) {
      const StoredTensor& t = *stored_tensors[i];
      if (t.slices.empty()) parts.push_back({&t, to[i]});
      for (const Slice& slice : t.slices) {
        const StoredTensor* part = index.find(slice_key(t.key, slice));
        ARGOSY_ASSIGN_OR_RETURN(Tensor memory, Tensor::allocate(part->dtype, part->shape, host_allocator()));
        placed.push_back({i, parts.size(), &slice});
        parts.push_back({part, std::move(memory)});
      }
    }
    ARGOSY_RETURN_IF_ERROR(read_parts(parts));
    for (const Part& p : parts) {
      if (p.stored->dtype == DType::kBool) make_bools(p.to);
    }
    std::vector<std::int64_t> covered(to.size(), 0);
    for (const Placed& p : placed) {
      const Tensor& whole = to[p.tensor];
      covered[p.tensor] +=
          copy_common(whole, whole_slice(whole.shape().rank()), parts[p.part].to, *p.slice, whole.shape());
    }
    for (std::size_t i = 0; i < to.size(); ++i) {
      const StoredTensor& t = *stored_tensors[i];
      if (!t.slices.empty() && covered[i] != to[i].elements()) return too_few_slices(t.key);
    }
    return ok_status();
  }
};

CheckpointReader::CheckpointReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
CheckpointReader::CheckpointReader(CheckpointReader&&) noexcept = default;
CheckpointReader& CheckpointReader::operator=(CheckpointReader&&) noexcept = default;
CheckpointReader::~CheckpointReader() = default;

Result<CheckpointReader> CheckpointReader::open(const std::string& prefix, bool piece) {
  auto impl = std::make_unique<Impl>();
  impl->prefix = prefix;
  auto index = load_index(index_path(prefix), piece);
  if (!index.ok() && index.status().code() == Code::kNotFound) {
    return not_found("there is no checkpoint ", prefix, ": ", index_path(prefix), " does not exist")
        .with_id("ARG-CKPT-007")
        .with_hint("give the prefix without .index or .data-…, or the folder");
  }
  ARGOSY_ASSIGN_OR_RETURN(impl->index, std::move(index));
  ARGOSY_RETURN_IF_ERROR(impl->open_files());
  impl->list_entries();
  return CheckpointReader(std::move(impl));
}

const std::string& CheckpointReader::prefix() const { return impl_->prefix; }
std::span<const CheckpointEntry> CheckpointReader::entries() const { return impl_->entries; }
const CheckpointEntry* CheckpointReader::find(std::string_view name) const {
  const auto it = std::lower_bound(impl_->entries.begin(), impl_->entries.end(), name,
                                   [](const CheckpointEntry& e, std::string_view n) { return e.name < n; });
  return it != impl_->entries.end() && it->name == name ? &*it : nullptr;
}

Result<Tensor> CheckpointReader::read(const std::string& name, const ReadOptions& options) const {
  ARGOSY_ASSIGN_OR_RETURN(std::vector<Tensor> tensors, read(std::span(&name, 1), options));
  return std::move(tensors.front());
}

Result<std::vector<Tensor>> CheckpointReader::read(std::span<const std::string> names,
                                                   const ReadOptions& options) const {
  std::vector<const StoredTensor*> stored;
  std::vector<Tensor> tensors;
  for (const std::string& name : names) {
    ARGOSY_ASSIGN_OR_RETURN(const StoredTensor* t, impl_->stored(name));
    ARGOSY_RETURN_IF_ERROR(impl_->readable(*t));
    stored.push_back(t);
    ARGOSY_ASSIGN_OR_RETURN(Tensor tensor, Tensor::allocate(t->dtype, t->shape, *options.allocator));
    if (is_plain(t->dtype)) expect_filling(tensor.raw(), tensor.bytes());
    tensors.push_back(std::move(tensor));
  }
  ARGOSY_RETURN_IF_ERROR(impl_->read_tensors(stored, tensors));
  return tensors;
}

Result<Tensor> CheckpointReader::read_part(const std::string& name, const PartOf& part,
                                           const ReadOptions& options) const {
  ARGOSY_ASSIGN_OR_RETURN(const StoredTensor* const t, impl_->stored(name));
  ARGOSY_RETURN_IF_ERROR(impl_->readable(*t));
  if (!(t->shape == part.whole)) {
    return invalid_argument("tensor_name = ", name, "; shape in shape_and_slice spec ", part.whole,
                            " does not match the shape stored in checkpoint: ", t->shape);
  }
  ARGOSY_ASSIGN_OR_RETURN(Tensor out,
                          Tensor::allocate(t->dtype, slice_shape(part.slice, t->shape), *options.allocator));
  std::int64_t covered = 0;
  const std::vector<Slice> everything = {whole_slice(t->shape.rank())};
  for (const Slice& slice : t->slices.empty() ? everything : t->slices) {
    if (!overlap(slice, part.slice, t->shape)) continue;
    const StoredTensor* const piece = t->slices.empty() ? t : impl_->index.find(slice_key(t->key, slice));
    ARGOSY_ASSIGN_OR_RETURN(Tensor memory, Tensor::allocate(piece->dtype, piece->shape, host_allocator()));
    const Impl::Part read{piece, std::move(memory)};
    ARGOSY_RETURN_IF_ERROR(impl_->read_parts(std::span(&read, 1)));
    if (piece->dtype == DType::kBool) make_bools(read.to);
    covered += copy_common(out, part.slice, read.to, slice, t->shape);
  }
  if (covered != out.elements()) return too_few_slices(name);
  return out;
}

Status CheckpointReader::read_into(std::span<const NamedTensor> to) const {
  constexpr std::size_t kMostLines = 40;
  std::vector<const StoredTensor*> stored;
  std::vector<Tensor> tensors;
  std::vector<std::string> differences;
  Status only;  // kept when it is the only difference, since it says more
  for (const auto& [name, tensor] : to) {
    Result<const StoredTensor*> t = impl_->stored(name);
    Status why = t.ok() ? impl_->readable(**t) : t.status();
    if (why.ok() && ((*t)->dtype != tensor.dtype() || (*t)->shape != tensor.shape())) {
      why = failed_precondition("tensor '", name, "' is ", dtype_name((*t)->dtype), (*t)->shape, " in checkpoint ",
                                impl_->prefix, " but ", dtype_name(tensor.dtype()), tensor.shape(), " here")
                .with_id("ARG-CKPT-008");
    }
    if (!why.ok()) {
      differences.push_back(why.message());
      only = std::move(why);
      continue;
    }
    stored.push_back(*t);
    tensors.push_back(tensor);
  }
  if (differences.size() == 1) return only;
  if (!differences.empty()) {
    const std::size_t count = differences.size();
    if (count > kMostLines) {
      differences.resize(kMostLines);
      differences.push_back(str_cat("… and ", count - kMostLines, " more"));
    }
    return failed_precondition(count, " of ", to.size(), " tensors do not fit checkpoint ", impl_->prefix, ":\n  ",
                               str_join(differences, "\n  "))
        .with_id("ARG-CKPT-008");
  }
  return impl_->read_tensors(stored, tensors);
}

Status CheckpointReader::verify() const {
  std::vector<Run> runs;
  std::vector<const StoredTensor*> of_run;
  for (const StoredTensor& t : impl_->index.tensors) {
    if (!t.slices.empty()) continue;
    if (t.dtype == DType::kString || t.dtype == DType::kVariant) {
      ARGOSY_RETURN_IF_ERROR(impl_->read_strings({&t, {}}));
      continue;
    }
    runs.push_back({&impl_->file(t), t.offset, t.bytes, nullptr});
    of_run.push_back(&t);
  }
  return impl_->read_and_check(runs, of_run);
}

}  // namespace argosy::tf
