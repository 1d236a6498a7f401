// Pipelines of ops that argosy/ops/dataset/dataset.h has no builder for. Included by tests of datasets.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "argosy/graph/function_body.h"
#include "argosy/ops/constant/constant.h"
#include "tests/session/pipeline_test.h"

namespace argosy::dataset_ops {

using Values = const std::vector<Value>&;

inline const std::vector<DType> kInt = {DType::kInt64};
inline const std::vector<PartialShape> kScalar = {PartialShape::scalar()};

inline InputPipeline numbers(Graph& g, std::int64_t n) { return range_dataset(g, 0, n); }
inline Value number(Graph& g, std::int64_t n) { return constant(g, n); }
inline Value numbers_like(Value v, std::int64_t n) { return constant(v.graph(), n); }

inline Value modulo(Value v, std::int64_t n) { return v.graph().add("FloorMod", {v, numbers_like(v, n)}); }

// The op on a dataset and more inputs.
inline InputPipeline add(std::string_view op, const InputPipeline& input, std::vector<Value> more, AttrMap attrs = {},
                         std::vector<DType> types = kInt, std::vector<PartialShape> shapes = kScalar) {
  std::vector<Value> inputs = {input.dataset};
  inputs.insert(inputs.end(), more.begin(), more.end());
  attrs.set("output_types", types);
  attrs.set("output_shapes", shapes);
  return {input.dataset.graph().add(op, inputs, attrs), types, shapes};
}

// The name of a function that `f` writes.
inline FunctionRef function(Graph& g, const std::vector<DType>& parameters,
                            const std::function<std::vector<Value>(Values)>& f) {
  FunctionBody body(g, "f");
  std::vector<Value> values;
  for (const DType d : parameters) values.push_back(body.parameter(d, PartialShape::scalar()));
  const auto made = body.finish(f(values));
  return {made == nullptr ? "" : made->name};
}
inline FunctionRef unary(Graph& g, const std::function<Value(Value)>& f) {
  return function(g, kInt, [&](Values v) -> std::vector<Value> { return {f(v[0])}; });
}
inline FunctionRef repeats(Graph& g) {  // n, n
  return unary(g, [](Value v) { return repeat_dataset(tensor_dataset({v}), 2).dataset; });
}

}  // namespace argosy::dataset_ops
