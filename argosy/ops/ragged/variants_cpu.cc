// Kernels: ragged tensors in variants, and out of them.
#include <algorithm>
#include <cstring>

#include "argosy/ops/attr_kernel.h"
#include "argosy/ops/list/element_memory.h"
#include "argosy/ops/ragged/ragged_variant.h"
#include "argosy/ops/ragged/splits.h"
#include "argosy/ops/sparse/coo.h"

namespace argosy {

Result<Variant> RaggedVariant::zeros_like(Allocator& memory) const {
  ARGOSY_ASSIGN_OR_RETURN(Tensor zeros, zeros_of(values_, memory));
  return Variant(std::make_shared<RaggedVariant>(splits_, std::move(zeros)));
}

Result<Variant> RaggedVariant::plus(const VariantValue& other, Allocator& memory) const {
  const auto* const more = dynamic_cast<const RaggedVariant*>(&other);
  if (more == nullptr || more->values_.dtype() != values_.dtype() || more->values_.shape() != values_.shape()) {
    return invalid_argument("a ", describe(), " and a ", other.describe(), " cannot be added");
  }
  Allocator& host = written_by_host(memory);
  ARGOSY_ASSIGN_OR_RETURN(auto sum, sum_of({values_, &host}, {more->values_, &host}, memory, nullptr));
  return Variant(std::make_shared<RaggedVariant>(splits_, std::move(sum.value)));
}

namespace {

using sparse::copy_element;

Tensor splits_tensor(const Ints& splits, DType dtype) {
  Tensor t = Tensor::zeros(dtype, {splits.size()});
  for (int i = 0; i < splits.size(); ++i) {
    if (dtype == DType::kInt32) {
      t.data<std::int32_t>()[i] = static_cast<std::int32_t>(splits[i]);
    } else {
      t.data<std::int64_t>()[i] = splits[i];
    }
  }
  return t;
}

// Elements [begin, end) of the first axis, in memory of their own.
Result<Tensor> rows_of(const Tensor& t, std::int64_t begin, std::int64_t end) {
  std::vector<std::int64_t> sizes(t.shape().sizes().begin(), t.shape().sizes().end());
  sizes[0] = end - begin;
  ARGOSY_ASSIGN_OR_RETURN(Tensor part, Tensor::allocate(t.dtype(), Shape(sizes), host_allocator()));
  const std::int64_t width = t.shape()[0] > 0 ? t.elements() / t.shape()[0] : 0;
  for (std::int64_t i = 0; i < part.elements(); ++i) copy_element(part, i, t, begin * width + i);
  return part;
}

Variant wrap(std::vector<Tensor> splits, Tensor values) {
  return Variant(std::make_shared<RaggedVariant>(std::move(splits), std::move(values)));
}

Status to_variant(KernelContext& c, const AttrMap& attrs) {
  const int nested = c.num_inputs() - 1;
  const Tensor& values = c.input(nested);
  const DType dtype = attrs.get_type("Tsplits");
  const bool batched = attrs.get_bool("batched_input");
  ARGOSY_RETURN_IF_ERROR(check_nesting(nesting_around(values)));
  if (nested > 0 && values.shape().rank() < 1)
    return invalid_argument("RaggedTensorToVariant: values must have a rank of at least 1");
  std::vector<Ints> splits;
  if (nested > 0) {
    ARGOSY_ASSIGN_OR_RETURN(splits, read_nested(c, 0, nested, values.shape()[0], "RaggedTensorToVariant"));
  }
  if (!batched) {
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, {}));
    std::vector<Tensor> kept;
    for (const Ints& s : splits) kept.push_back(splits_tensor(s, dtype));
    *y->data<Variant>() = wrap(std::move(kept), values.clone());
    return ok_status();
  }
  if (values.shape().rank() < 1) return invalid_argument("RaggedTensorToVariant: a batch needs a rank of at least 1");
  const std::int64_t count = nested > 0 ? splits[0].size() - 1 : values.shape()[0];
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, {count}));
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t begin = i, end = i + 1;
    std::vector<Tensor> own;
    for (std::size_t k = 0; k < splits.size(); ++k) {
      const std::int64_t from = splits[k][static_cast<int>(begin)], to = splits[k][static_cast<int>(end)];
      if (k > 0) {
        Ints shifted;
        for (std::int64_t row = begin; row <= end; ++row) shifted.push_back(splits[k][static_cast<int>(row)] - from);
        own.push_back(splits_tensor(shifted, dtype));
      }
      begin = from;
      end = to;
    }
    ARGOSY_ASSIGN_OR_RETURN(Tensor part, rows_of(values, begin, end));
    if (nested == 0) part = part.reshaped(part.shape().removed(0));
    y->data<Variant>()[i] = wrap(std::move(own), std::move(part));
  }
  return ok_status();
}

Result<std::shared_ptr<const RaggedVariant>> ragged_at(const Tensor& t, std::int64_t i) {
  auto held = std::dynamic_pointer_cast<const RaggedVariant>(t.data<Variant>()[i].value());
  if (held == nullptr)
    return invalid_argument("Input Variant element at index ", i, " doesn't hold a RaggedTensorVariant");
  return held;
}

Status check_kind(const RaggedVariant& r, std::int64_t rank, DType values, DType splits, std::int64_t i) {
  if (static_cast<std::int64_t>(r.splits().size()) != rank) {
    return invalid_argument("Encoded input RaggedTensorVariant at ", i, " has ragged_rank=", r.splits().size(),
                            ".  Expected ragged_rank=", rank, ".");
  }
  if (r.values().dtype() != values) {
    return invalid_argument("Expected values Tensor dtype: ", dtype_name(values),
                            ", found: ", dtype_name(r.values().dtype()));
  }
  for (const Tensor& s : r.splits()) {
    if (s.dtype() != splits)
      return invalid_argument("Expected row_splits Tensor dtype: ", dtype_name(splits),
                              ", found: ", dtype_name(s.dtype()));
  }
  return ok_status();
}

Status from_variant(KernelContext& c, const AttrMap& attrs) {
  const Tensor& x = c.input(0);
  const int nested = c.num_outputs() - 1;
  const DType dtype = attrs.get_type("Tsplits");
  std::int64_t own = attrs.get_int("input_ragged_rank");
  if (own == -1) own = nested - x.shape().rank();
  if (own < 0 || own + x.shape().rank() != nested) {
    return invalid_argument("output_ragged_rank must be equal to input_ragged_rank + encoded_ragged.dims(): ", nested,
                            ", ", own, ", ", x.shape());
  }
  std::vector<std::shared_ptr<const RaggedVariant>> parts;
  for (std::int64_t i = 0; i < x.elements(); ++i) {
    ARGOSY_ASSIGN_OR_RETURN(auto part, ragged_at(x, i));
    ARGOSY_RETURN_IF_ERROR(check_kind(*part, own, c.output_dtype(nested), dtype, i));
    parts.push_back(std::move(part));
  }
  if (x.shape().rank() == 0) {
    for (int k = 0; k < nested; ++k) c.set_output(k, parts[0]->splits()[static_cast<std::size_t>(k)]);
    c.set_output(nested, parts[0]->values());
    return ok_status();
  }
  // Axes of the batch but the last are regular; the last has the parts' rows.
  int output = 0;
  std::int64_t before = 1;
  for (int k = 0; k + 1 < x.shape().rank(); ++k) {
    before *= x.shape()[k];
    Ints regular;
    for (std::int64_t i = 0; i <= before; ++i) regular.push_back(i * x.shape()[k + 1]);
    ARGOSY_RETURN_IF_ERROR(put_splits(c, output++, regular));
  }
  const auto first_size = [&](const RaggedVariant& r) -> std::int64_t {
    if (own > 0) return r.splits()[0].elements() - 1;
    return r.values().shape().rank() > 0 ? r.values().shape()[0] : -1;
  };
  Ints outer = {0};
  std::vector<Ints> inner(static_cast<std::size_t>(own), Ints{0});
  for (const auto& part : parts) {
    if (first_size(*part) < 0) return invalid_argument("Encoded input RaggedTensorVariant has values that are scalars");
    outer.push_back(outer.back() + first_size(*part));
    for (std::size_t k = 0; k < inner.size(); ++k) {
      ARGOSY_ASSIGN_OR_RETURN(const Ints s, read_ints(part->splits()[k], "row splits"));
      const std::int64_t shift = inner[k].back();
      for (int i = 1; i < s.size(); ++i) inner[k].push_back(shift + s[i]);
    }
  }
  ARGOSY_RETURN_IF_ERROR(put_splits(c, output++, outer));
  for (const Ints& s : inner) ARGOSY_RETURN_IF_ERROR(put_splits(c, output++, s));
  std::vector<std::int64_t> sizes = {0};
  std::int64_t rows = 0;
  for (const auto& part : parts) {
    const Shape& s = part->values().shape();
    if (s.rank() < 1) return invalid_argument("Encoded input RaggedTensorVariant has values that are scalars");
    const std::vector<std::int64_t> these(s.sizes().begin() + 1, s.sizes().end());
    if (rows == 0 && sizes.size() == 1) sizes.insert(sizes.end(), these.begin(), these.end());
    if (!std::equal(sizes.begin() + 1, sizes.end(), these.begin(), these.end())) {
      return invalid_argument("Shape of flat_values must be the same for all: ", s, " after [?,",
                              str_join(std::span(sizes).subspan(1), ","), "]");
    }
    rows += s[0];
  }
  sizes[0] = rows;
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, Shape::make(sizes));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(nested, shape));
  std::int64_t to = 0;
  for (const auto& part : parts) {
    for (std::int64_t i = 0; i < part->values().elements(); ++i) copy_element(*y, to++, part->values(), i);
  }
  return ok_status();
}

// The values of all parts one after the other; zeros for parts that nothing flowed into.
Status to_variant_gradient(KernelContext& c) {
  const Tensor& x = c.input(0);
  const Tensor& splits = c.input(1);
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, to_shape(c.input(2), "RaggedTensorToVariantGradient: dense_values_shape"));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
  if (is_plain(y->dtype())) std::memset(y->raw(), 0, y->bytes());
  const auto fill = [&](std::int64_t i, std::int64_t at, std::int64_t room) {
    if (x.data<Variant>()[i].value() == nullptr) return ok_status();
    ARGOSY_ASSIGN_OR_RETURN(const auto part, ragged_at(x, i));
    if (part->values().dtype() != y->dtype() || part->values().elements() > room) {
      return invalid_argument("RaggedTensorToVariantGradient: part ", i, " holds ", dtype_name(part->values().dtype()),
                              part->values().shape(), ", more than the ", room, " values there are");
    }
    for (std::int64_t k = 0; k < part->values().elements(); ++k) copy_element(*y, at + k, part->values(), k);
    return ok_status();
  };
  if (x.shape().rank() == 0) return fill(0, 0, y->elements());
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < x.elements(); ++i) {
    ARGOSY_RETURN_IF_ERROR(fill(i, at, y->elements() - at));
    if (x.data<Variant>()[i].value() != nullptr) {
      ARGOSY_ASSIGN_OR_RETURN(const auto part, ragged_at(x, i));
      at += part->values().elements();
    } else if (splits.shape().rank() == 1 && i + 1 < splits.elements() && shape.rank() > 0 && shape[0] > 0) {
      ARGOSY_ASSIGN_OR_RETURN(const Ints ends, read_ints(splits, "row splits"));
      const std::int64_t rows = ends[static_cast<int>(i) + 1] - ends[static_cast<int>(i)];
      if (rows < 0 || rows > shape[0]) return invalid_argument("row splits must ascend within ", shape[0], " rows");
      at += rows * (shape.elements() / shape[0]);
    }
  }
  return ok_status();
}

}  // namespace

void add_kernels_cpu_ragged_variants(KernelRegistry& kernels) {
  kernels.add("RaggedTensorToVariant", "cpu", AttrKernel<to_variant>::make);
  kernels.add("RaggedTensorFromVariant", "cpu", AttrKernel<from_variant>::make);
  kernels.add("RaggedTensorToVariantGradient", "cpu", to_variant_gradient);
}

}  // namespace argosy
