#include "argosy/ops/elementwise/fused/fused_source.h"

#include <algorithm>

#include "argosy/base/str.h"
#include "argosy/ops/elementwise/gpu/gpu_functions.h"

namespace argosy {

namespace {

// numbers.h, vec.h and functions_cuda.h, their own includes left out.
constexpr char kPrelude[] =
#include "argosy/ops/elementwise/fused/fused_prelude.inc"
    ;

constexpr char kAround[] = R"(
#if defined(__CUDACC_RTC__)
#define ARGOSY_KERNEL(name, ...) \
  extern "C" __global__ void __launch_bounds__(::argosy::cuda::kMostThreads) name(__VA_ARGS__)
#else
#include "argosy/device/cuda/fake/on_host.h"
#endif
namespace argosy::cuda {
)";

std::string_view stored(DType d) {
  switch (d) {
    case DType::kFloat32: return "f32";
    case DType::kFloat64: return "f64";
    case DType::kFloat16: return "f16";
    case DType::kBfloat16: return "bf16";
    case DType::kBool: return "bool";
    default: return "";
  }
}

// Values are kept in the type that their dtype is computed in. 16-bit floats are rounded after every step, as between
// kernels.
std::string rounded(DType d, const std::string& expression) {
  if (element_bytes(d) != 2) return expression;
  return str_cat("Number<", stored(d), ">::load(Number<", stored(d), ">::store(", expression, "))");
}

bool repeats(const FusedOperand& operand) {
  return operand.kind == FusedOperand::Kind::kPeriodic || operand.kind == FusedOperand::Kind::kRuns;
}

// Returns the expression for the element of input `v` that element i of the output uses; the next function, for a
// vector from `first` on.
std::string element_of(const FusedOperand& operand, std::size_t v) {
  switch (operand.kind) {
    case FusedOperand::Kind::kFull: return str_cat("x", v, "[i]");
    case FusedOperand::Kind::kOne: return str_cat("x", v, "[0]");
    case FusedOperand::Kind::kPeriodic: return str_cat("x", v, "[i % s", v, "]");
    case FusedOperand::Kind::kRuns: return str_cat("x", v, "[i / s", v, "]");
  }
  return "";
}
std::string vec_of(const FusedOperand& operand, std::size_t v) {
  switch (operand.kind) {
    case FusedOperand::Kind::kFull: return str_cat("load_vec<kVec>(x", v, ", first)");
    case FusedOperand::Kind::kOne: return str_cat("splat_vec<kVec>(x", v, "[0])");
    case FusedOperand::Kind::kPeriodic: return str_cat("load_periodic<kVec>(x", v, ", first, s", v, ")");
    case FusedOperand::Kind::kRuns: return str_cat("load_runs<kVec>(x", v, ", first, s", v, ")");
  }
  return "";
}

}  // namespace

std::size_t fused_widest(const FusedProgram& program, std::span<const DType> inputs) {
  std::size_t widest = 1;
  for (const DType d : inputs) widest = std::max(widest, element_bytes(d));
  for (const int r : program.results) {
    widest = std::max(widest, element_bytes(program.steps[static_cast<std::size_t>(r)].dtype));
  }
  return widest;
}

// fused_element() computes the program for one element, from the values read. The kernel calls it for each element of a
// vector, and for the elements left over.
std::optional<std::string> fused_source(const FusedProgram& program, std::span<const DType> inputs,
                                        std::span<const FusedOperand> operands) {
  std::vector<DType> dtypes(inputs.begin(), inputs.end());
  std::string values, parameters = "i64 n", body, types, together, vecs, of_vec, of_one;
  for (std::size_t v = 0; v < inputs.size(); ++v) {
    const std::string_view type = stored(inputs[v]);
    if (type.empty()) return std::nullopt;
    values += str_cat(v > 0 ? ", " : "", type, " x", v);
    parameters += str_cat(", const ", type, "* x", v);
    types += str_cat(v > 0 ? ", " : "", type);
    body += str_cat("  const Compute<", type, "> v", v, " = Number<", type, ">::load(x", v, ");\n");
    vecs += str_cat("    const Vec<", type, ", kVec> p", v, " = ", vec_of(operands[v], v), ";\n");
    of_vec += str_cat(v > 0 ? ", " : "", "p", v, ".at[k]");
    of_one += str_cat(v > 0 ? ", " : "", element_of(operands[v], v));
    if (operands[v].kind == FusedOperand::Kind::kFull) together += str_cat("x", v, ", ");
  }
  for (std::size_t v = 0; v < inputs.size(); ++v) {
    if (repeats(operands[v])) parameters += str_cat(", i64 s", v);
  }
  for (std::size_t s = 0; s < program.steps.size(); ++s) {
    const FusedStep& step = program.steps[s];
    if (stored(step.dtype).empty()) return std::nullopt;
    const DType first = dtypes[static_cast<std::size_t>(step.operands[0])];
    const auto value = [&](std::size_t k) { return str_cat("v", step.operands[k]); };
    const bool binary = step.operands[1] >= 0;
    std::string expression;
    if (step.op == "Select" || step.op == "SelectV2") {
      expression = str_cat(value(0), " ? ", value(1), " : ", value(2));
    } else if (step.op == "Cast") {
      expression = step.dtype == DType::kBool
                       ? str_cat(value(0), " != 0")
                       : str_cat("static_cast<Compute<", stored(step.dtype), ">>(", value(0), ")");
    } else {
      const std::string_view op =
          binary && (step.op == "BiasAdd" || step.op == "AddN") ? "Add" : std::string_view(step.op);
      const auto found = binary ? elementwise::binary_on_gpu(op, first) : elementwise::unary_on_gpu(op, first);
      if (!found) return std::nullopt;
      expression =
          str_cat("fn::", elementwise::function_on_gpu(op), "::call(", value(0), binary ? ", " + value(1) : "", ")");
    }
    body += str_cat("  const Compute<", stored(step.dtype), "> v", inputs.size() + s, " = ",
                    rounded(step.dtype, expression), ";\n");
    dtypes.push_back(step.dtype);
  }
  std::string results, stores;
  for (std::size_t o = 0; o < program.results.size(); ++o) {
    const std::string_view type = stored(program.steps[static_cast<std::size_t>(program.results[o])].dtype);
    values += str_cat(", ", type, "& y", o);
    parameters += str_cat(", ", type, "* y", o);
    types += str_cat(", ", type);
    together += str_cat(o > 0 ? ", " : "", "y", o);
    results += str_cat("    Vec<", type, ", kVec> r", o, ";\n");
    of_vec += str_cat(", r", o, ".at[k]");
    of_one += str_cat(", y", o, "[i]");
    stores += str_cat("    store_vec<kVec>(y", o, ", first, r", o, ");\n");
    body += str_cat("  y", o, " = Number<", type, ">::store(v",
                    inputs.size() + static_cast<std::size_t>(program.results[o]), ");\n");
  }
  return str_cat(kPrelude, kAround, "ARGOSY_DEVICE void fused_element(", values, ") {\n", body, "}\n",
                 "ARGOSY_KERNEL(fused, ", parameters, ") {\n  constexpr int kVec = kVecElements<", types, ">;\n",
                 "  const i64 thread = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x;\n"
                 "  const i64 step = static_cast<i64>(gridDim.x) * blockDim.x;\n"
                 "  const i64 vecs = are_vec_aligned<kVec>(",
                 together,
                 ") ? n / kVec : 0;\n"
                 "  for (i64 p = thread; p < vecs; p += step) {\n    const i64 first = p * kVec;\n",
                 vecs, results, "    ARGOSY_UNROLL\n    for (int k = 0; k < kVec; ++k) fused_element(", of_vec, ");\n",
                 stores, "  }\n  for (i64 i = vecs * kVec + thread; i < n; i += step) fused_element(", of_one,
                 ");\n}\n}  // namespace argosy::cuda\n");
}

}  // namespace argosy
