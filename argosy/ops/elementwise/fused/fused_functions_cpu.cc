// Finds the span of an op: the one that its own kernel would run.
#include <algorithm>

#include "argosy/ops/activation/activation_spans.h"
#include "argosy/ops/cast/spans.h"
#include "argosy/ops/elementwise/functions/elementwise_spans.h"
#include "argosy/ops/elementwise/fused/fused.h"

namespace argosy {

namespace {

bool is_half(DType d) { return d == DType::kBfloat16 || d == DType::kFloat16; }

bool may_fuse(DType d) { return is_floating(d) || d == DType::kBool; }

// Tables are in the order of the op's kernels. The first table with the dtype, or with float32 for a 16-bit float, is
// the one that runs.
template <typename Row>
const Row* first_row(std::string_view function, DType dtype, std::initializer_list<std::span<const Row>> tables,
                     bool* as_float) {
  for (const std::span<const Row> rows : tables) {
    const auto find = [&](DType wanted) {
      const auto row =
          std::find_if(rows.begin(), rows.end(), [&](const Row& r) { return r.dtype == wanted && r.op == function; });
      return row == rows.end() ? nullptr : &*row;
    };
    if (const Row* row = find(dtype)) return row;
    const Row* const wide = is_half(dtype) ? find(DType::kFloat32) : nullptr;
    if (wide != nullptr) {
      *as_float = true;
      return wide;
    }
  }
  return nullptr;
}

std::optional<FusedFunction> unary(std::string_view op, DType dtype) {
  using namespace elementwise;  // NOLINT(google-build-using-namespace): its tables
  FusedFunction f;
  const UnaryRow* row = first_row<UnaryRow>(
      function_of(op), dtype, {math_rows(), simple_unary_rows(), elementwise::reference_unary_rows()}, &f.as_float);
  if (row == nullptr) {
    row = first_row<UnaryRow>(op, dtype, {activation::unary_rows(), activation::reference_unary_rows()}, &f.as_float);
  }
  if (row == nullptr) return std::nullopt;
  f.unary = row->span;
  f.work = row->work;
  return f;
}

std::optional<FusedFunction> binary(std::string_view op, DType dtype) {
  using namespace elementwise;  // NOLINT(google-build-using-namespace): its tables
  FusedFunction f;
  const BinaryRow* row = first_row<BinaryRow>(
      function_of(op), dtype, {simple_binary_rows(), elementwise::reference_binary_rows()}, &f.as_float);
  if (row == nullptr) {
    row =
        first_row<BinaryRow>(op, dtype, {activation::binary_rows(), activation::reference_binary_rows()}, &f.as_float);
  }
  if (row == nullptr || (row->check != nullptr && row->check != activation::same_shape)) return std::nullopt;
  f.binary = row->spans;
  f.work = row->work;
  return f;
}

}  // namespace

std::optional<FusedFunction> fused_function(std::string_view op, std::span<const DType> inputs, DType output) {
  if (!may_fuse(output) || !std::all_of(inputs.begin(), inputs.end(), may_fuse)) return std::nullopt;
  if (op == "Select" || op == "SelectV2") {
    if (inputs.size() != 3 || inputs[0] != DType::kBool) return std::nullopt;
    return FusedFunction{.select = true};
  }
  if (op == "Cast") {
    const UnarySpan span = inputs.size() == 1 && inputs[0] != output ? find_cast_span(inputs[0], output) : nullptr;
    return span != nullptr ? std::optional(FusedFunction{.unary = span}) : std::nullopt;
  }
  if (inputs.size() == 1) return unary(op, inputs[0]);
  if (inputs.size() == 2 && inputs[0] == inputs[1])
    return binary(op == "BiasAdd" || op == "AddN" ? "Add" : op, inputs[0]);
  return std::nullopt;
}

}  // namespace argosy
