#include "argosy/formats/checkpoint/slice_file.h"

#include <map>

#include "argosy/base/checked.h"
#include "argosy/base/system/file.h"
#include "argosy/formats/checkpoint/bundle_index.h"
#include "argosy/formats/checkpoint/checkpoint_io.h"
#include "argosy/formats/checkpoint/region.h"
#include "argosy/formats/checkpoint/sorted_table.h"
#include "argosy/formats/proto/saved_slice.pb.h"
#include "argosy/formats/proto/tensor_proto.h"

namespace argosy::tf {

namespace {

constexpr int kVersion = 1;
constexpr std::int64_t kMostBytes = (std::int64_t{1} << 31) - 1024;  // of one message

void to_message(const Slice& slice, tensorflow::TensorSliceProto* to) {
  for (const Extent& e : slice) {
    auto* extent = to->add_extent();
    if (e.length < 0) continue;
    extent->set_start(e.start);
    extent->set_length(e.length);
  }
}

Slice from_message(const tensorflow::TensorSliceProto& from) {
  Slice slice;
  for (const auto& e : from.extent()) {
    slice.push_back(e.has_length_case() == e.kLength ? Extent{e.start(), e.length()} : Extent{});
  }
  return slice;
}

template <typename T, typename List>
void put(const Tensor& from, List* to) {
  for (const T v : from.values<T>()) to->Add(v);
}

// Readers of this format know value lists only, without dtype and shape beside them.
Status put_values(const Tensor& t, tensorflow::TensorProto* to) {
  const auto bits = [&]<typename T>(T) {
    for (const T v : t.values<T>()) to->add_half_val(v.bits);
    return ok_status();
  };
  switch (t.dtype()) {
    case DType::kFloat32: return put<float>(t, to->mutable_float_val()), ok_status();
    case DType::kFloat64: return put<double>(t, to->mutable_double_val()), ok_status();
    case DType::kInt32: return put<std::int32_t>(t, to->mutable_int_val()), ok_status();
    case DType::kInt16: return put<std::int16_t>(t, to->mutable_int_val()), ok_status();
    case DType::kInt8: return put<std::int8_t>(t, to->mutable_int_val()), ok_status();
    case DType::kUint8: return put<std::uint8_t>(t, to->mutable_int_val()), ok_status();
    case DType::kUint16: return put<std::uint16_t>(t, to->mutable_int_val()), ok_status();
    case DType::kInt64: return put<std::int64_t>(t, to->mutable_int64_val()), ok_status();
    case DType::kUint32: return put<std::uint32_t>(t, to->mutable_uint32_val()), ok_status();
    case DType::kUint64: return put<std::uint64_t>(t, to->mutable_uint64_val()), ok_status();
    case DType::kBool: return put<bool>(t, to->mutable_bool_val()), ok_status();
    case DType::kFloat16: return bits(float16());
    case DType::kBfloat16: return bits(bfloat16());
    case DType::kString:
      for (const std::string& s : t.values<std::string>()) to->add_string_val(s);
      return ok_status();
    case DType::kComplex64:
      for (const auto& v : t.values<std::complex<float>>()) {
        to->add_scomplex_val(v.real());
        to->add_scomplex_val(v.imag());
      }
      return ok_status();
    case DType::kComplex128:
      for (const auto& v : t.values<std::complex<double>>()) {
        to->add_dcomplex_val(v.real());
        to->add_dcomplex_val(v.imag());
      }
      return ok_status();
    default: return unimplemented("a tensor of ", dtype_name(t.dtype()), " cannot be saved in the old format");
  }
}

struct Stored {
  DType dtype = DType::kInvalid;
  Shape shape;
  std::vector<std::pair<Slice, Tensor>> pieces;
};

}  // namespace

Status write_slice_file(const std::string& path, std::span<const NamedPart> parts) {
  std::map<std::string, std::string> entries;
  std::map<std::string, tensorflow::SavedSliceMeta> metas;
  std::map<std::string, std::vector<Slice>> slices;  // by name; a reader refuses those that overlap
  for (const NamedPart& p : parts) {
    if (static_cast<std::int64_t>(p.tensor.bytes()) > kMostBytes) {
      return invalid_argument("Tensor slice is too large to serialize (", p.tensor.bytes(), " bytes): '", p.name, "'")
          .with_hint("save it with SaveV2, or in slices");
    }
    const Slice slice = p.part ? p.part->slice : whole_slice(p.tensor.shape().rank());
    const Shape& whole = p.part ? p.part->whole : p.tensor.shape();
    if (!(slice_shape(slice, whole) == p.tensor.shape())) {
      return invalid_argument("Slice in shape_and_slice specification does not match the shape of the tensor to save: ",
                              slice_shape(slice, whole), ", tensor '", p.name, "': ", p.tensor.shape());
    }
    tensorflow::SavedSliceMeta& meta = metas[p.name];
    if (meta.name().empty()) {
      meta.set_name(p.name);
      meta.set_type(static_cast<tensorflow::DataType>(p.tensor.dtype()));
      to_proto(PartialShape(whole), meta.mutable_shape());
    }
    ARGOSY_ASSIGN_OR_RETURN(const PartialShape known, from_proto(meta.shape()));
    if (static_cast<int>(meta.type()) != static_cast<int>(p.tensor.dtype()) || !(known == PartialShape(whole))) {
      return invalid_argument("Mismatching shapes or types of '", p.name, "': ", known, " and ", whole);
    }
    to_message(slice, meta.add_slice());
    tensorflow::SavedTensorSlices entry;
    entry.mutable_data()->set_name(p.name);
    to_message(slice, entry.mutable_data()->mutable_slice());
    ARGOSY_RETURN_IF_ERROR(put_values(p.tensor, entry.mutable_data()->mutable_data()));
    if (!entries.emplace(slice_key(p.name, slice), entry.SerializeAsString()).second) {
      return invalid_argument("two tensors are to be saved under the name '", p.name, "'");
    }
    for (const Slice& other : slices[p.name]) {
      if (overlap(other, slice, whole)) return invalid_argument("two slices of '", p.name, "' overlap");
    }
    slices[p.name].push_back(slice);
  }
  tensorflow::SavedTensorSlices all;
  all.mutable_meta()->mutable_versions()->set_producer(kVersion);
  for (auto& [name, meta] : metas) *all.mutable_meta()->add_tensor() = std::move(meta);
  std::vector<TableEntry> table = {{"", all.SerializeAsString()}};
  for (auto& [key, value] : entries) table.emplace_back(key, std::move(value));
  ARGOSY_ASSIGN_OR_RETURN(const std::string bytes, build_table(table));
  return CheckpointIo({}, true).replace(path, bytes);
}

struct SliceReader::Impl {
  std::map<std::string, Stored, std::less<>> tensors;

  Status take_meta(const tensorflow::SavedTensorSliceMeta& meta, const std::string& path) {
    for (const auto& t : meta.tensor()) {
      ARGOSY_ASSIGN_OR_RETURN(const PartialShape partial, from_proto(t.shape()));
      if (!partial.is_full()) return data_loss("checkpoint ", path, ": '", t.name(), "' has no valid shape");
      ARGOSY_ASSIGN_OR_RETURN(const Shape shape, partial.full());
      const auto dtype = static_cast<int>(t.type()) <= static_cast<int>(DType::kUint64) ? static_cast<DType>(t.type())
                                                                                        : DType::kInvalid;
      Stored& stored = tensors[t.name()];
      if (stored.dtype != DType::kInvalid && (stored.dtype != dtype || !(stored.shape == shape))) {
        return invalid_argument("Incompatible tensor shapes or types detected for tensor ", t.name(),
                                ": existing = ", stored.shape, ", new = ", shape);
      }
      stored.dtype = dtype;
      stored.shape = shape;
    }
    return ok_status();
  }

  Status take_data(tensorflow::SavedSlice& data, const std::string& path) {
    const auto found = tensors.find(data.name());
    if (found == tensors.end()) return data_loss("checkpoint ", path, ": '", data.name(), "' is not announced");
    Stored& stored = found->second;
    Slice slice = from_message(data.slice());
    if (const Status fits = check_slice(slice, stored.shape); !fits.ok()) {
      return data_loss("checkpoint ", path, ": '", data.name(), "': ", fits.message());
    }
    for (const auto& [other, tensor] : stored.pieces) {
      if (overlap(other, slice, stored.shape)) {
        return data_loss("checkpoint ", path, ": '", data.name(), "' has slices that overlap");
      }
    }
    tensorflow::TensorProto& values = *data.mutable_data();
    values.set_dtype(static_cast<tensorflow::DataType>(stored.dtype));
    to_proto(PartialShape(slice_shape(slice, stored.shape)), values.mutable_tensor_shape());
    // A list shorter than the tensor would be filled up: a few bytes must not become gigabytes.
    auto tensor = from_proto(values, static_cast<std::int64_t>(values.ByteSizeLong()) * 64 + 4096);
    if (!tensor.ok()) return data_loss("checkpoint ", path, ": '", data.name(), "': ", tensor.status().message());
    stored.pieces.emplace_back(std::move(slice), *std::move(tensor));
    return ok_status();
  }

  Status take_file(const std::string& path) {
    ARGOSY_ASSIGN_OR_RETURN(const File file, File::open(path));
    bool first = true;
    return read_table(file, [&](std::string_view key, std::string_view value) {
      tensorflow::SavedTensorSlices entry;
      if (!entry.ParseFromArray(value.data(), static_cast<int>(value.size())) || first != key.empty()) {
        return data_loss("checkpoint ", path, ": it is none of TensorFlow's first format");
      }
      if (!first) return take_data(*entry.mutable_data(), path);
      first = false;
      return take_meta(entry.meta(), path);
    });
  }

  Result<const Stored*> find(const std::string& name) const {
    const auto found = tensors.find(name);
    if (found != tensors.end()) return &found->second;
    return not_found("Tensor name \"", name, "\" not found in checkpoint files");
  }
};

SliceReader::SliceReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SliceReader::SliceReader(SliceReader&&) noexcept = default;
SliceReader::~SliceReader() = default;

Result<SliceReader> SliceReader::open(std::span<const std::string> paths) {
  auto impl = std::make_unique<Impl>();
  for (const std::string& path : paths) ARGOSY_RETURN_IF_ERROR(impl->take_file(path));
  return SliceReader(std::move(impl));
}

Result<PartOf> SliceReader::whole(const std::string& name) const {
  ARGOSY_ASSIGN_OR_RETURN(const Stored* const stored, impl_->find(name));
  return PartOf{stored->shape, whole_slice(stored->shape.rank())};
}

Result<DType> SliceReader::dtype(const std::string& name) const {
  ARGOSY_ASSIGN_OR_RETURN(const Stored* const stored, impl_->find(name));
  return stored->dtype;
}

Result<Tensor> SliceReader::read(const std::string& name, const PartOf& part) const {
  ARGOSY_ASSIGN_OR_RETURN(const Stored* const stored, impl_->find(name));
  if (!(stored->shape == part.whole)) {
    return invalid_argument("Shape in shape_and_slice spec does not match the shape in the save file: ", part.whole,
                            ", save file shape: ", stored->shape);
  }
  std::int64_t held = 0;  // no more is allocated than the files hold
  for (const auto& [slice, tensor] : stored->pieces) held += tensor.elements();
  const Shape shape = slice_shape(part.slice, part.whole);
  if (shape.elements() > held)
    return invalid_argument("Error copying slice data: '", name, "' has ", held, " elements");
  ARGOSY_ASSIGN_OR_RETURN(Tensor out, Tensor::allocate(stored->dtype, shape, host_allocator()));
  std::int64_t covered = 0;
  for (const auto& [slice, tensor] : stored->pieces) covered += copy_common(out, part.slice, tensor, slice, part.whole);
  if (covered != out.elements()) {
    return invalid_argument("Error copying slice data: the files have ", covered, " of ", out.elements(),
                            " elements of '", name, "'");
  }
  return out;
}

}  // namespace argosy::tf
