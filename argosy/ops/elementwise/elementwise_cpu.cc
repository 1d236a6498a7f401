#include <algorithm>

#include "argosy/ops/elementwise/functions/elementwise_spans.h"

namespace argosy {

namespace elementwise {

namespace {

// Ops that compute the same function as another op.
constexpr std::pair<std::string_view, std::string_view> kSame[] = {
    {"AddV2", "Add"},  {"RealDiv", "Div"}, {"Mod", "TruncateMod"}, {"Inv", "Reciprocal"}, {"InvGrad", "ReciprocalGrad"},
    {"Round", "Rint"},
};

}  // namespace

std::string_view function_of(std::string_view op) {
  const auto* const found = std::find_if(std::begin(kSame), std::end(kSame), [&](auto& s) { return s.first == op; });
  return found == std::end(kSame) ? op : found->second;
}

namespace {

template <std::span<const UnaryRow> (*rows)()>
Result<std::unique_ptr<Kernel>> unary(const KernelInit& init) {
  return make_unary(init, rows(), function_of(init.op.name));
}
template <std::span<const BinaryRow> (*rows)()>
Result<std::unique_ptr<Kernel>> binary(const KernelInit& init) {
  return make_binary(init, rows(), function_of(init.op.name));
}

template <typename Row>
const Row* find(std::string_view op, DType dtype, std::initializer_list<std::span<const Row>> tables) {
  for (const auto rows : tables) {
    for (const Row& row : rows) {
      if (row.dtype == dtype && row.op == op) return &row;
    }
  }
  return nullptr;
}

template <typename Row>
bool names(std::span<const Row> rows, std::string_view op) {
  return std::any_of(rows.begin(), rows.end(), [&](const Row& row) { return row.op == function_of(op); });
}

}  // namespace
}  // namespace elementwise

using namespace elementwise;  // NOLINT(google-build-using-namespace): this folder's tables

UnarySpan find_unary_span(std::string_view op, DType dtype) {
  const auto* const row =
      find<UnaryRow>(function_of(op), dtype, {math_rows(), simple_unary_rows(), reference_unary_rows()});
  return row ? row->span : nullptr;
}

BinarySpans find_binary_spans(std::string_view op, DType dtype) {
  const auto* const row = find<BinaryRow>(function_of(op), dtype, {simple_binary_rows(), reference_binary_rows()});
  return row ? row->spans : BinarySpans{};
}

void add_kernels_cpu_sums_and_checks(KernelRegistry& kernels);
void add_kernels_cpu_fused(KernelRegistry& kernels);

void add_kernels_cpu_elementwise(KernelRegistry& kernels) {
  add_kernels_cpu_sums_and_checks(kernels);
  add_kernels_cpu_fused(kernels);
  for (const char* op :
       {"Neg",     "Abs",      "Sign",       "Square", "Reciprocal", "Inv",     "Sqrt",     "Rsqrt",
        "Exp",     "Expm1",    "Log",        "Log1p",  "Sin",        "Cos",     "Tan",      "Asin",
        "Acos",    "Atan",     "Sinh",       "Cosh",   "Tanh",       "Asinh",   "Acosh",    "Atanh",
        "Sigmoid", "Erf",      "Erfc",       "Floor",  "Ceil",       "Round",   "Rint",     "IsNan",
        "IsInf",   "IsFinite", "LogicalNot", "Invert", "Lgamma",     "Digamma", "Softsign", "PopulationCount"}) {
    if (names(math_rows(), op)) kernels.add(op, "cpu", unary<math_rows>);
    if (names(simple_unary_rows(), op)) kernels.add(op, "cpu", unary<simple_unary_rows>);
    kernels.add(op, "cpu", unary<reference_unary_rows>);
  }
  for (const char* op : {"Add",
                         "AddV2",
                         "Sub",
                         "Mul",
                         "Div",
                         "RealDiv",
                         "DivNoNan",
                         "MulNoNan",
                         "FloorDiv",
                         "TruncateDiv",
                         "FloorMod",
                         "Mod",
                         "TruncateMod",
                         "Maximum",
                         "Minimum",
                         "Pow",
                         "SquaredDifference",
                         "Atan2",
                         "Xdivy",
                         "Xlogy",
                         "Xlog1py",
                         "BitwiseAnd",
                         "BitwiseOr",
                         "BitwiseXor",
                         "LeftShift",
                         "RightShift",
                         "NextAfter",
                         "Equal",
                         "NotEqual",
                         "Less",
                         "LessEqual",
                         "Greater",
                         "GreaterEqual",
                         "LogicalAnd",
                         "LogicalOr",
                         "TanhGrad",
                         "SigmoidGrad",
                         "SqrtGrad",
                         "RsqrtGrad",
                         "InvGrad",
                         "ReciprocalGrad",
                         "SoftsignGrad",
                         "Zeta",
                         "Polygamma"}) {
    if (names(simple_binary_rows(), op)) kernels.add(op, "cpu", binary<simple_binary_rows>);
    kernels.add(op, "cpu", binary<reference_binary_rows>);
  }
}

}  // namespace argosy
