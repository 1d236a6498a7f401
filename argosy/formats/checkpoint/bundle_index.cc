#include "argosy/formats/checkpoint/bundle_index.h"

#include <algorithm>

#include "argosy/base/checked.h"
#include "argosy/formats/checkpoint/sorted_table.h"
#include "argosy/formats/proto/bundle.pb.h"
#include "argosy/formats/proto/crc32c.h"

namespace argosy::tf {

namespace {

constexpr int kVersion = 1;         // TensorFlow's kTensorBundleVersion
constexpr int kMostShards = 99999;  // five digits in a file name
constexpr std::size_t kMostSlices = 4096;

class IndexLoader {
 public:
  IndexLoader(const std::string& path, bool piece) : path_(path), piece_(piece) {}

  Result<BundleIndex> load() {
    ARGOSY_ASSIGN_OR_RETURN(const File file, File::open(path_));
    ARGOSY_RETURN_IF_ERROR(read_table(file, [this](std::string_view key, std::string_view value) {
      if (!have_header_) return header(key, value);
      return tensor(key, value);
    }));
    if (!have_header_) return damaged("it is empty");
    ARGOSY_RETURN_IF_ERROR(check_overlaps());
    for (const StoredTensor& t : index_.tensors) ARGOSY_RETURN_IF_ERROR(check_slices(t));
    return std::move(index_);
  }

 private:
  Status damaged(std::string_view what) const {
    return data_loss("checkpoint index ", path_, ": ", what).with_id("ARG-CKPT-001");
  }

  Status header(std::string_view key, std::string_view value) {
    tensorflow::BundleHeaderProto header;
    if (!key.empty() || !header.ParseFromArray(value.data(), static_cast<int>(value.size()))) {
      return damaged("it does not begin with a bundle header");
    }
    if (header.endianness() != tensorflow::BundleHeaderProto::LITTLE) {
      return failed_precondition("checkpoint ", path_, " was written on a big-endian machine").with_id("ARG-CKPT-003");
    }
    const auto& version = header.version();
    const auto& bad = version.bad_consumers();
    if (version.min_consumer() > kVersion || std::find(bad.begin(), bad.end(), kVersion) != bad.end()) {
      return failed_precondition("checkpoint ", path_, " has format version ", version.producer(),
                                 " and needs a reader of version ", version.min_consumer(), ", this is version ",
                                 kVersion)
          .with_id("ARG-CKPT-003");
    }
    if (header.num_shards() < 1 || header.num_shards() > kMostShards) {
      return damaged(str_cat("its header says ", header.num_shards(), " data files"));
    }
    index_.shards = header.num_shards();
    have_header_ = true;
    return ok_status();
  }

  Status tensor(std::string_view key, std::string_view value) {
    tensorflow::BundleEntryProto entry;
    if (!entry.ParseFromArray(value.data(), static_cast<int>(value.size()))) {
      return damaged(str_cat("the entry of ", describe_key(key), " cannot be parsed"));
    }
    const auto wrong = [&](std::string_view what) { return damaged(str_cat(describe_key(key), " ", what)); };
    StoredTensor t;
    t.key = key;
    t.dtype_number = entry.dtype();
    if (t.dtype_number > 0 && t.dtype_number <= static_cast<int>(DType::kUint64)) {
      t.dtype = static_cast<DType>(t.dtype_number);
    }
    std::vector<std::int64_t> sizes;
    for (const auto& dim : entry.shape().dim()) sizes.push_back(dim.size());
    Result<Shape> shape = Shape::make(sizes);
    if (!shape.ok() || entry.shape().unknown_rank()) return wrong("has no valid shape");
    t.shape = *std::move(shape);
    t.shard = entry.shard_id();
    t.offset = entry.offset();
    t.bytes = entry.size();
    t.crc = unmask_crc(entry.crc32c());
    if (t.shard < 0 || t.shard >= index_.shards || !checked_add(t.offset, t.bytes)) {
      return wrong(str_cat("lies in shard ", t.shard, " of ", index_.shards, " at byte ", t.offset, ", ", t.bytes,
                           " bytes long"));
    }
    for (const auto& stored : entry.slices()) {
      Slice slice;
      for (const auto& e : stored.extent()) {
        slice.push_back(e.has_length_case() == e.kLength ? Extent{e.start(), e.length()} : Extent{});
      }
      t.slices.push_back(std::move(slice));
    }
    if (!t.slices.empty() && is_slice_key(key)) return wrong("has slices of its own");
    if (t.slices.empty() && is_plain(t.dtype)) {
      const auto bytes = checked_mul(t.shape.elements(), static_cast<std::int64_t>(element_bytes(t.dtype)));
      if (!bytes || *bytes != t.bytes) {
        return wrong(str_cat("is ", dtype_name(t.dtype), t.shape, " but has ", t.bytes, " bytes"));
      }
    }
    // Each string takes a byte at least, so this bounds what reading one can allocate.
    if (t.slices.empty() && t.dtype == DType::kString && t.bytes < t.shape.elements()) {
      return wrong(str_cat("has ", t.shape.elements(), " strings in ", t.bytes, " bytes"));
    }
    index_.tensors.push_back(std::move(t));
    return ok_status();
  }

  Status check_overlaps() const {
    std::vector<const StoredTensor*> order;
    for (const StoredTensor& t : index_.tensors) {
      if (t.bytes > 0 && t.slices.empty()) order.push_back(&t);
    }
    std::sort(order.begin(), order.end(), [](const StoredTensor* a, const StoredTensor* b) {
      return a->shard != b->shard ? a->shard < b->shard : a->offset < b->offset;
    });
    for (std::size_t i = 1; i < order.size(); ++i) {
      const StoredTensor& a = *order[i - 1];
      const StoredTensor& b = *order[i];
      if (a.shard == b.shard && a.offset + a.bytes > b.offset) {
        return damaged(str_cat(describe_key(a.key), " and ", describe_key(b.key), " overlap at byte ", b.offset));
      }
    }
    return ok_status();
  }

  // Slices inside the tensor that do not overlap and have as many elements as it has: they tile it.
  Status check_slices(const StoredTensor& t) const {
    const auto wrong = [&](std::string_view what) { return damaged(str_cat(describe_key(t.key), " ", what)); };
    if (t.slices.size() > kMostSlices) return wrong(str_cat("has ", t.slices.size(), " slices"));
    std::int64_t elements = 0;
    for (std::size_t i = 0; i < t.slices.size(); ++i) {
      const Slice& slice = t.slices[i];
      if (static_cast<int>(slice.size()) != t.shape.rank()) return wrong("has a slice of another rank");
      for (int axis = 0; axis < t.shape.rank(); ++axis) {
        const Extent e = slice[static_cast<std::size_t>(axis)];
        const std::int64_t length = e.length < 0 ? t.shape[axis] : e.length;
        if (e.start < 0 || e.length < -1 || length > t.shape[axis] || e.start > t.shape[axis] - length) {
          return wrong("has a slice outside its shape");
        }
      }
      const Shape shape = slice_shape(slice, t.shape);
      const StoredTensor* stored = index_.find(slice_key(t.key, slice));
      if (stored == nullptr) return wrong(str_cat("misses slice ", i, " of ", t.slices.size()));
      if (stored->dtype_number != t.dtype_number || stored->shape != shape) {
        return wrong(str_cat("has a slice of another type or shape: ", stored->shape, " instead of ", shape));
      }
      elements += shape.elements();
      for (std::size_t j = 0; j < i; ++j) {
        if (overlap(t.slices[j], slice, t.shape)) return wrong("has slices that overlap");
      }
    }
    if (!t.slices.empty() && !piece_ && elements != t.shape.elements()) return wrong("is not covered by its slices");
    return ok_status();
  }

  const std::string& path_;
  const bool piece_;
  bool have_header_ = false;
  BundleIndex index_;
};

}  // namespace

std::string describe_key(std::string_view key) {
  if (!is_slice_key(key)) return str_cat("tensor '", key, "'");
  // The name lies between the first byte and the terminator 00 01.
  return str_cat("a slice of '", key.substr(1, key.find(std::string_view("\0\1", 2), 1) - 1), "'");
}

Shape slice_shape(const Slice& slice, const Shape& whole) {
  Shape shape = whole;
  for (int axis = 0; axis < whole.rank(); ++axis) {
    const Extent e = slice[static_cast<std::size_t>(axis)];
    if (e.length >= 0) shape = shape.with(axis, e.length);
  }
  return shape;
}

bool overlap(const Slice& a, const Slice& b, const Shape& whole) {
  const Shape a_shape = slice_shape(a, whole);
  const Shape b_shape = slice_shape(b, whole);
  for (int axis = 0; axis < whole.rank(); ++axis) {
    const std::int64_t a_start = a[static_cast<std::size_t>(axis)].start;
    const std::int64_t b_start = b[static_cast<std::size_t>(axis)].start;
    if (a_start + a_shape[axis] <= b_start || b_start + b_shape[axis] <= a_start) return false;
  }
  return whole.elements() > 0;
}

const StoredTensor* BundleIndex::find(std::string_view key) const {
  const auto it = std::lower_bound(tensors.begin(), tensors.end(), key,
                                   [](const StoredTensor& t, std::string_view k) { return t.key < k; });
  return it != tensors.end() && it->key == key ? &*it : nullptr;
}

Result<BundleIndex> load_index(const std::string& path, bool piece) { return IndexLoader(path, piece).load(); }

Result<std::string> build_index(const BundleIndex& index) {
  if (index.shards > kMostShards) {
    return invalid_argument("a checkpoint has at most ", kMostShards, " data files, not ", index.shards);
  }
  std::vector<TableEntry> entries;
  entries.reserve(index.tensors.size() + 1);
  tensorflow::BundleHeaderProto header;
  header.set_num_shards(index.shards);
  header.mutable_version()->set_producer(kVersion);
  entries.emplace_back("", header.SerializeAsString());
  for (const StoredTensor& t : index.tensors) {
    if (t.slices.size() > kMostSlices) {
      return invalid_argument(describe_key(t.key), " has ", t.slices.size(), " slices; at most ", kMostSlices,
                              " can be read back");
    }
    tensorflow::BundleEntryProto entry;
    entry.set_dtype(static_cast<tensorflow::DataType>(t.dtype));
    auto* shape = entry.mutable_shape();
    for (const std::int64_t size : t.shape.sizes()) shape->add_dim()->set_size(size);
    entry.set_shard_id(t.shard);
    entry.set_offset(t.offset);
    entry.set_size(t.bytes);
    entry.set_crc32c(t.slices.empty() ? mask_crc(t.crc) : 0);
    for (const Slice& slice : t.slices) {
      auto* stored = entry.add_slices();
      for (const Extent& e : slice) {
        auto* extent = stored->add_extent();
        if (e.length < 0) continue;
        extent->set_start(e.start);
        extent->set_length(e.length);
      }
    }
    entries.emplace_back(t.key, entry.SerializeAsString());
  }
  return build_table(entries);
}

}  // namespace argosy::tf
