// Kernels: several tensors as one variant.
#include <array>
#include <cstring>
#include <optional>

#include "argosy/formats/proto/wire.h"
#include "argosy/ops/attr_kernel.h"
#include "argosy/ops/list/element_memory.h"
#include "argosy/ops/ragged/ragged_rows.h"
#include "argosy/tensor/nesting.h"

namespace argosy {

namespace {

// TensorFlow's TypeSpecProto.TypeSpecClass, by number.
constexpr std::array<const char*, 14> kKinds = {"UNKNOWN",
                                                "SPARSE_TENSOR_SPEC",
                                                "INDEXED_SLICES_SPEC",
                                                "RAGGED_TENSOR_SPEC",
                                                "TENSOR_ARRAY_SPEC",
                                                "DATA_DATASET_SPEC",
                                                "DATA_ITERATOR_SPEC",
                                                "OPTIONAL_SPEC",
                                                "PER_REPLICA_SPEC",
                                                "VARIABLE_SPEC",
                                                "ROW_PARTITION_SPEC",
                                                "NDARRAY_SPEC",
                                                "REGISTERED_TYPE_SPEC",
                                                "EXTENSION_TYPE_SPEC"};
std::string kind_name(std::uint64_t kind) { return kind < kKinds.size() ? kKinds[kind] : str_cat("type ", kind); }

struct Field {
  std::uint64_t number = 0;     // of the field
  std::uint64_t value = 0;      // of a varint
  std::string_view bytes = {};  // of a message or text
};
// The next field of a protobuf message, which is taken off; none where it is damaged.
std::optional<Field> take_field(std::string_view& from) {
  std::uint64_t tag = 0, length = 0;
  if (!tf::take_varint(from, tag) || tag >> 3 == 0) return std::nullopt;
  Field field{.number = tag >> 3};
  switch (tag & 7) {
    case 0: return tf::take_varint(from, field.value) ? std::optional(field) : std::nullopt;
    case 1: length = 8; break;
    case 2:
      if (!tf::take_varint(from, length)) return std::nullopt;
      break;
    case 5: length = 4; break;
    default: return std::nullopt;
  }
  if (length > from.size()) return std::nullopt;
  field.bytes = from.substr(0, length);
  from.remove_prefix(length);
  return field;
}

// What kind of value a serialized CompositeTensorVariantMetadata speaks of: field 1 of its field 1.
std::optional<std::uint64_t> kind_of(std::string_view metadata) {
  std::uint64_t kind = 0;
  while (!metadata.empty()) {
    const auto spec = take_field(metadata);
    if (!spec) return std::nullopt;
    if (spec->number != 1) continue;
    for (std::string_view rest = spec->bytes; !rest.empty();) {
      const auto field = take_field(rest);
      if (!field) return std::nullopt;
      if (field->number == 1) kind = field->value;
    }
  }
  return kind;
}

class Composite final : public VariantValue {
 public:
  Composite(std::uint64_t kind, std::vector<Element> components) : kind_(kind), components_(std::move(components)) {
    for (const Element& e : components_) set_nesting(std::max(nesting(), nesting_around(e.value)));
  }
  std::string describe() const override {
    return str_cat("composite tensor, ", kind_name(kind_), " of ", components_.size(), " components");
  }
  std::uint64_t kind() const { return kind_; }
  const std::vector<Element>& components() const { return components_; }

  Result<Variant> zeros_like(Allocator& memory) const override {
    std::vector<Element> zeros;
    for (const Element& e : components_) {
      if (!is_number(e.value.dtype()) && e.value.dtype() != DType::kVariant) {
        zeros.push_back(e);
        continue;
      }
      ARGOSY_ASSIGN_OR_RETURN(Tensor zero, zeros_of(e.value, memory));
      zeros.push_back({std::move(zero), &written_by_host(memory)});
    }
    return Variant(std::make_shared<Composite>(kind_, std::move(zeros)));
  }
  // Numbers that are no integers are added; indices and splits are those of both.
  Result<Variant> plus(const VariantValue& other, Allocator& memory) const override {
    const auto* const more = dynamic_cast<const Composite*>(&other);
    if (more == nullptr || more->components_.size() != components_.size())
      return invalid_argument("a ", describe(), " and a ", other.describe(), " cannot be added");
    std::vector<Element> sums;
    for (std::size_t i = 0; i < components_.size(); ++i) {
      const Element &a = components_[i], &b = more->components_[i];
      if (a.value.dtype() != b.value.dtype() || a.value.shape() != b.value.shape())
        return invalid_argument("a ", describe(), " and a ", other.describe(), " of other shapes cannot be added");
      if (!is_floating(a.value.dtype()) && !is_complex(a.value.dtype()) && a.value.dtype() != DType::kVariant) {
        sums.push_back(a);
        continue;
      }
      ARGOSY_ASSIGN_OR_RETURN(Element sum, sum_of(a, b, memory, nullptr));
      sums.push_back(std::move(sum));
    }
    return Variant(std::make_shared<Composite>(kind_, std::move(sums)));
  }

 private:
  static bool is_number(DType d) { return is_floating(d) || is_complex(d) || is_integer(d); }

  const std::uint64_t kind_;
  const std::vector<Element> components_;
};

Status from_components(KernelContext& c, const AttrMap& attrs) {
  const auto kind = kind_of(attrs.get_string("metadata"));
  if (!kind) return invalid_argument("Error parsing metadata: it is no CompositeTensorVariantMetadata");
  std::vector<Element> components;
  for (int i = 0; i < c.num_inputs(); ++i) {
    ARGOSY_RETURN_IF_ERROR(check_nesting(nesting_around(c.input(i))));
    ARGOSY_ASSIGN_OR_RETURN(Element element, kept_element(c, c.input(i)));
    components.push_back(std::move(element));
  }
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, {}));
  *y->data<Variant>() = Variant(std::make_shared<Composite>(*kind, std::move(components)));
  return ok_status();
}

Status to_components(KernelContext& c, const AttrMap& attrs) {
  const Tensor& encoded = c.input(0);
  const VariantValue* const value = encoded.shape().rank() == 0 ? encoded.data<Variant>()->value().get() : nullptr;
  const auto* const composite = dynamic_cast<const Composite*>(value);
  if (composite == nullptr) {
    return invalid_argument("The input `encoded` is not a valid CompositeTensorVariant tensor, got a variant of shape ",
                            encoded.shape(), value == nullptr ? std::string() : " that holds a " + value->describe());
  }
  const auto kind = kind_of(attrs.get_string("metadata"));
  if (!kind) return invalid_argument("Error parsing `metadata`: it is no CompositeTensorVariantMetadata");
  if (*kind != composite->kind()) {
    return invalid_argument("Expected a ", kind_name(*kind), " (based on `type_spec`), but `encoded` contains a ",
                            kind_name(composite->kind()));
  }
  const auto& components = composite->components();
  if (static_cast<int>(components.size()) != c.num_outputs()) {
    return invalid_argument("Encoded value has ", components.size(), " tensor components; expected ", c.num_outputs(),
                            " components based on type_spec");
  }
  for (int i = 0; i < c.num_outputs(); ++i) {
    const Element& e = components[static_cast<std::size_t>(i)];
    if (e.value.dtype() != c.output_dtype(i)) {
      return invalid_argument("Tensor component ", i, " had dtype ", dtype_name(e.value.dtype()), "; expected dtype ",
                              dtype_name(c.output_dtype(i)));
    }
    ARGOSY_ASSIGN_OR_RETURN(Tensor here, brought(c, e));
    ARGOSY_RETURN_IF_ERROR(give_element(c, i, std::move(here)));
  }
  return ok_status();
}

}  // namespace

void add_kernels_cpu_composites(KernelRegistry& kernels) {
  kernels.add("CompositeTensorVariantFromComponents", "cpu", AttrKernel<from_components>::make);
  kernels.add("CompositeTensorVariantToComponents", "cpu", AttrKernel<to_components>::make);
}

}  // namespace argosy
