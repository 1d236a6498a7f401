// ParseExampleDataset: ParseExampleV2 of every element (a vector of serialized Examples), several at a time. Components
// come in the order of their keys; sparse ones as three variants, ragged ones as one.
#include <map>

#include "argosy/base/threads/parallel.h"
#include "argosy/op/kernel/function_call.h"
#include "argosy/ops/dataset/unary_dataset.h"
#include "argosy/ops/evaluate.h"
#include "argosy/ops/ops.h"

namespace argosy::datasets {

namespace {

struct ExampleColumns {
  std::vector<std::string> sparse_keys, dense_keys, ragged_keys;
  std::vector<DType> sparse_types, dense_types, ragged_types, split_types;
  std::vector<PartialShape> dense_shapes;
  std::vector<Tensor> defaults;

  static ExampleColumns read(const DatasetArgs& a) {
    const auto strings = [&](const char* name) { return a.attrs().get_or(name, std::vector<std::string>()); };
    const auto types = [&](const char* name) { return a.attrs().get_or(name, std::vector<DType>()); };
    return {.sparse_keys = strings("sparse_keys"),
            .dense_keys = strings("dense_keys"),
            .ragged_keys = strings("ragged_keys"),
            .sparse_types = types("sparse_types"),
            .dense_types = types("Tdense"),
            .ragged_types = types("ragged_value_types"),
            .split_types = types("ragged_split_types"),
            .dense_shapes = a.attrs().get<std::vector<PartialShape>>("dense_shapes"),
            .defaults = a.tensors("dense_defaults")};
  }

  Status check() const {
    if (sparse_keys.size() != sparse_types.size() || dense_keys.size() != dense_types.size() ||
        dense_keys.size() != dense_shapes.size() || dense_keys.size() != defaults.size() ||
        ragged_keys.size() != ragged_types.size() || ragged_keys.size() != split_types.size()) {
      return invalid_argument("ParseExampleDataset: ", sparse_keys.size(), " sparse, ", dense_keys.size(),
                              " dense and ", ragged_keys.size(),
                              " ragged keys do not go with as many dtypes, shapes and defaults");
    }
    return ok_status();
  }
};

// As a function of one argument, so that parallel maps can call it.
class ParseExamples final : public FunctionCall {
 public:
  static Result<std::shared_ptr<FunctionCall>> make(ExampleColumns columns, std::vector<DType> returns) {
    ARGOSY_RETURN_IF_ERROR(columns.check());
    std::map<std::string, std::size_t> places;
    for (const auto* keys : {&columns.sparse_keys, &columns.dense_keys, &columns.ragged_keys}) {
      for (const std::string& key : *keys) {
        if (!places.emplace(key, 0).second) return invalid_argument("Duplicate key not allowed: ", key);
      }
    }
    if (places.size() != returns.size()) {
      return invalid_argument("ParseExampleDataset: ", places.size(), " keys for ", returns.size(), " components");
    }
    std::size_t next = 0;
    for (auto& [key, place] : places) place = next++;
    return std::shared_ptr<FunctionCall>(
        std::make_shared<ParseExamples>(std::move(columns), std::move(returns), std::move(places)));
  }
  ParseExamples(ExampleColumns columns, std::vector<DType> returns, std::map<std::string, std::size_t> places)
      : columns_(std::move(columns)), returns_(std::move(returns)), places_(std::move(places)) {
    attrs_ = {{"Tdense", columns_.dense_types},
              {"num_sparse", static_cast<std::int64_t>(columns_.sparse_keys.size())},
              {"sparse_types", columns_.sparse_types},
              {"ragged_value_types", columns_.ragged_types},
              {"ragged_split_types", columns_.split_types},
              {"dense_shapes", columns_.dense_shapes}};
    const auto keys = [](const std::vector<std::string>& v) { return Tensor::vector<std::string>(v); };
    inputs_ = {keys({}), keys(columns_.sparse_keys), keys(columns_.dense_keys), keys(columns_.ragged_keys)};
    inputs_.insert(inputs_.end(), columns_.defaults.begin(), columns_.defaults.end());
  }

  const std::vector<DType>& parameters() const override { return parameters_; }
  const std::vector<DType>& returns() const override { return returns_; }

  Result<std::vector<Tensor>> run(std::span<const Tensor> arguments, Cancellation*) override {
    std::vector<Tensor> inputs = {arguments[0]};
    inputs.insert(inputs.end(), inputs_.begin(), inputs_.end());
    ARGOSY_ASSIGN_OR_RETURN(std::vector<Tensor> columns, evaluate("ParseExampleV2", attrs_, inputs));
    std::vector<Tensor> out(returns_.size());
    const std::size_t sparse = columns_.sparse_keys.size(), dense = columns_.dense_keys.size(),
                      ragged = columns_.ragged_keys.size();
    for (std::size_t i = 0; i < sparse; ++i) {
      const AttrMap attrs = {{"out_type", DType::kVariant}};
      ARGOSY_ASSIGN_OR_RETURN(
          auto made, evaluate("SerializeSparse", attrs, {columns[i], columns[sparse + i], columns[2 * sparse + i]}));
      out[places_.at(columns_.sparse_keys[i])] = std::move(made[0]);
    }
    for (std::size_t i = 0; i < dense; ++i)
      out[places_.at(columns_.dense_keys[i])] = std::move(columns[3 * sparse + i]);
    const std::size_t values = 3 * sparse + dense;
    for (std::size_t i = 0; i < ragged; ++i) {
      const AttrMap attrs = {{"RAGGED_RANK", std::int64_t{1}}, {"batched_input", false}};
      ARGOSY_ASSIGN_OR_RETURN(
          auto made, evaluate("RaggedTensorToVariant", attrs, {columns[values + ragged + i], columns[values + i]}));
      out[places_.at(columns_.ragged_keys[i])] = std::move(made[0]);
    }
    return out;
  }

 private:
  static Result<std::vector<Tensor>> evaluate(std::string_view op, const AttrMap& attrs,
                                              const std::vector<Tensor>& inputs) {
    return evaluate_op(*builtin_ops().find(op), attrs, inputs);
  }

  const ExampleColumns columns_;
  const std::vector<DType> returns_, parameters_ = {DType::kString};
  const std::map<std::string, std::size_t> places_;
  AttrMap attrs_;
  std::vector<Tensor> inputs_;  // behind the serialized Examples
};

Result<DatasetPtr> make_parse_examples(const DatasetArgs& a) {
  ARGOSY_ASSIGN_OR_RETURN(DatasetPtr input, a.dataset());
  if (input->types() != std::vector<DType>{DType::kString}) {
    return invalid_argument("ParseExampleDataset reads a dataset of serialized Examples: one component of strings");
  }
  ARGOSY_ASSIGN_OR_RETURN(std::int64_t calls, a.integer("num_parallel_calls"));
  if (calls == -1) calls = 2 * std::int64_t{available_cores()};
  if (calls <= 0) return invalid_argument("num_parallel_calls must be greater than zero.");
  ARGOSY_ASSIGN_OR_RETURN(auto call, ParseExamples::make(ExampleColumns::read(a), a.types()));
  const bool sloppy =
      a.attrs().get_or<bool>("sloppy", false) || a.attrs().get_or<std::string>("deterministic", "default") == "false";
  return parallel_map_dataset(a, a.shapes(), std::move(input), Captured(std::move(call), {}), calls, !sloppy);
}

}  // namespace

void add_examples(KernelRegistry& kernels) {
  add_dataset<make_parse_examples>(kernels,
                                   {"ParseExampleDataset", "ParseExampleDatasetV2", "ExperimentalParseExampleDataset"});
}

}  // namespace argosy::datasets
