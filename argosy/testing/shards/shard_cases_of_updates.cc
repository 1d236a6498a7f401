// Cases of ops that change variables, made from their arguments.
#include "argosy/testing/op_cases/op_case.h"
#include "argosy/testing/shards/shard_cases.h"
#include "argosy/testing/shards/shard_trial.h"

namespace argosy {

namespace {

Tensor positive(const Shape& shape, std::uint64_t seed) {
  return random_tensor(DType::kFloat32, shape, seed, 0.1, 0.9);
}

bool is_variable(const ArgDef& arg) { return arg.is_ref || arg.dtype == DType::kResource; }

// The tensor for an argument; not valid(): none fits.
Tensor value_for(const OpDef& op, const ArgDef& arg, const Shape& variable, std::uint64_t seed) {
  const std::string& name = arg.name;
  const bool by_row = op.name.find("Sparse") != std::string::npos;
  Shape rows{4};
  if (variable.rank() > 1) rows = Shape{4, variable[1]};
  if (is_variable(arg)) return variable_case(positive(variable, seed));
  if (name == "indices") {
    const Tensor numbers = Tensor::vector<std::int32_t>({1, 0, 4, 2});
    return op.name.find("ScatterNd") != std::string::npos ? numbers.reshaped({4, 1}) : numbers;
  }
  if (name == "grad" || name == "delta") return positive(by_row ? rows : variable, seed);
  if (name == "updates") return positive(rows, seed);
  if (name == "value") return positive(variable, seed);
  if (name == "global_step") return Tensor::scalar(std::int64_t{3});
  if (arg.type_attr == "T") return Tensor::scalar(name == "lr_power" ? -0.5F : 0.25F);
  return {};
}

}  // namespace

std::vector<RandomCase> update_cases(const OpDef& op) {
  std::vector<RandomCase> cases;
  if (op.input_args.empty() || !is_variable(op.input_args[0])) return cases;
  for (const Shape& variable : {Shape{5, 3}, Shape{5}}) {
    RandomCase c{&op, {}, {}};
    std::vector<DType> dtypes;
    for (std::size_t i = 0; i < op.input_args.size(); ++i) {
      const Tensor t = value_for(op, op.input_args[i], variable, i + 1);
      if (!t.valid()) return {};
      dtypes.push_back(op.input_args[i].is_ref ? DType::kFloat32 : t.dtype());
      c.inputs.push_back(t);
    }
    if (op.attr("dtype") != nullptr) c.attrs.set("dtype", DType::kFloat32);
    if (op.attr("T") != nullptr) c.attrs.set("T", DType::kFloat32);
    if (complete_attrs(op, dtypes, c.attrs).ok()) cases.push_back(std::move(c));
  }
  return cases;
}

}  // namespace argosy
