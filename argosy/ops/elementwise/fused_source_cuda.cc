#include "argosy/ops/elementwise/fused_source.h"

#include "argosy/base/str.h"
#include "argosy/ops/elementwise/rows_on_card.h"

namespace argosy {

namespace {

// numbers.h and functions_cuda.h, their own includes left out.
constexpr char kPrelude[] =
#include "argosy/ops/elementwise/fused_prelude.inc"
    ;

constexpr char kAround[] = R"(
#if defined(__CUDACC_RTC__)
#define ARGOSY_KERNEL(name, ...) extern "C" __global__ void name(__VA_ARGS__)
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

// A value is held in what its dtype is computed in; 16-bit floats are rounded after every step, as between kernels.
std::string rounded(DType d, const std::string& expression) {
  if (element_bytes(d) != 2) return expression;
  return str_cat("Number<", stored(d), ">::load(Number<", stored(d), ">::store(", expression, "))");
}

std::string index_of(const FusedOperand& operand, int input) {
  switch (operand.kind) {
    case FusedOperand::Kind::kFull: return "i";
    case FusedOperand::Kind::kOne: return "0";
    case FusedOperand::Kind::kPeriodic: return str_cat("i % s", input);
    case FusedOperand::Kind::kRuns: return str_cat("i / s", input);
  }
  return "i";
}

}  // namespace

std::optional<std::string> fused_source(const FusedProgram& program, std::span<const DType> inputs,
                                        std::span<const FusedOperand> operands) {
  std::vector<DType> dtypes(inputs.begin(), inputs.end());
  std::string parameters = "i64 n", body;
  for (std::size_t v = 0; v < inputs.size(); ++v) {
    if (stored(inputs[v]).empty()) return std::nullopt;
    parameters += str_cat(", const ", stored(inputs[v]), "* x", v);
    body += str_cat("    const Compute<", stored(inputs[v]), "> v", v, " = Number<", stored(inputs[v]), ">::load(x", v,
                    "[", index_of(operands[v], static_cast<int>(v)), "]);\n");
  }
  for (std::size_t v = 0; v < inputs.size(); ++v) {
    const bool repeats =
        operands[v].kind == FusedOperand::Kind::kPeriodic || operands[v].kind == FusedOperand::Kind::kRuns;
    if (repeats) parameters += str_cat(", i64 s", v);
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
      const auto found = binary ? elementwise::binary_on_card(op, first) : elementwise::unary_on_card(op, first);
      if (!found) return std::nullopt;
      expression =
          str_cat("fn::", elementwise::function_on_card(op), "::call(", value(0), binary ? ", " + value(1) : "", ")");
    }
    body += str_cat("    const Compute<", stored(step.dtype), "> v", inputs.size() + s, " = ",
                    rounded(step.dtype, expression), ";\n");
    dtypes.push_back(step.dtype);
  }
  for (std::size_t o = 0; o < program.results.size(); ++o) {
    const FusedStep& step = program.steps[static_cast<std::size_t>(program.results[o])];
    parameters += str_cat(", ", stored(step.dtype), "* y", o);
    body += str_cat("    y", o, "[i] = Number<", stored(step.dtype), ">::store(v",
                    inputs.size() + static_cast<std::size_t>(program.results[o]), ");\n");
  }
  return str_cat(kPrelude, kAround, "ARGOSY_KERNEL(fused, ", parameters,
                 ") {\n  const i64 step = static_cast<i64>(gridDim.x) * blockDim.x;\n"
                 "  for (i64 i = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) {\n",
                 body, "  }\n}\n}  // namespace argosy::cuda\n");
}

}  // namespace argosy
