#include <algorithm>

#include "argosy/graph/function_body.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/dataset/dataset.h"

namespace argosy {

namespace {

InputPipeline add_dataset(std::string_view op, Graph& graph, std::vector<Value> inputs, std::vector<DType> types,
                          std::vector<PartialShape> shapes, AttrMap attrs = {},
                          const char* types_attr = "output_types") {
  if (types_attr != nullptr) {
    attrs.set(types_attr, types);
    attrs.set("output_shapes", shapes);
  }
  return {graph.add(op, std::move(inputs), std::move(attrs)), std::move(types), std::move(shapes)};
}

// One more argument, one more dataset with the same elements.
InputPipeline same_elements(std::string_view op, const InputPipeline& input, const std::vector<std::int64_t>& numbers,
                            AttrMap attrs = {}) {
  if (!input.dataset.valid()) return {};
  Graph& graph = input.dataset.graph();
  std::vector<Value> inputs = {input.dataset};
  for (const std::int64_t n : numbers) inputs.push_back(constant(graph, n));
  return add_dataset(op, graph, std::move(inputs), input.types, input.shapes, std::move(attrs));
}

InputPipeline of_tensors(std::string_view op, const std::vector<Value>& components, bool rows) {
  if (components.empty() || !components[0].valid()) return {};
  std::vector<DType> types;
  std::vector<PartialShape> shapes;
  for (const Value& v : components) {
    types.push_back(v.dtype());
    const PartialShape& shape = v.shape();
    if (!rows) {
      shapes.push_back(shape);
    } else if (shape.rank() > 0) {
      shapes.emplace_back(std::vector<std::int64_t>(shape.sizes().begin() + 1, shape.sizes().end()));
    } else {
      shapes.push_back(PartialShape::unknown());
    }
  }
  return add_dataset(op, components[0].graph(), components, std::move(types), std::move(shapes), {}, "Toutput_types");
}

struct Body {
  std::string name;
  std::vector<Value> captures;
  std::vector<DType> types;
  std::vector<PartialShape> shapes;
};

// A function of an element's components, and what it returns.
Body body_of(const InputPipeline& input, std::string_view name, const ElementFunction& f) {
  FunctionBody body(input.dataset.graph(), name);
  std::vector<Value> parameters;
  for (std::size_t i = 0; i < input.types.size(); ++i) {
    parameters.push_back(body.parameter(input.types[i], input.shapes[i]));
  }
  const std::vector<Value> returns = f(parameters);
  Body made;
  for (const Value& v : returns) {
    made.types.push_back(v.dtype());
    made.shapes.push_back(v.valid() ? v.shape() : PartialShape::unknown());
  }
  const auto function = body.finish(returns);
  if (function != nullptr) made.name = function->name;
  made.captures = body.captures();
  return made;
}

std::vector<Value> with_captures(const InputPipeline& input, const Body& body) {
  std::vector<Value> inputs = {input.dataset};
  inputs.insert(inputs.end(), body.captures.begin(), body.captures.end());
  return inputs;
}

InputPipeline of_files(std::string_view op, Value filenames, const std::string& compression) {
  if (!filenames.valid()) return {};
  Graph& graph = filenames.graph();
  return add_dataset(op, graph, {filenames, constant(graph, compression), constant(graph, std::int64_t{0})},
                     {DType::kString}, {PartialShape::scalar()}, {}, nullptr);
}

}  // namespace

InputPipeline tensor_dataset(const std::vector<Value>& components) {
  return of_tensors("TensorDataset", components, false);
}
InputPipeline tensor_slice_dataset(const std::vector<Value>& components) {
  return of_tensors("TensorSliceDataset", components, true);
}
InputPipeline range_dataset(Graph& graph, std::int64_t start, std::int64_t stop, std::int64_t step) {
  return add_dataset("RangeDataset", graph, {constant(graph, start), constant(graph, stop), constant(graph, step)},
                     {DType::kInt64}, {PartialShape::scalar()});
}
InputPipeline text_line_dataset(Value filenames, const std::string& compression) {
  return of_files("TextLineDataset", filenames, compression);
}
InputPipeline record_dataset(Value filenames, const std::string& compression) {
  return of_files("TFRecordDataset", filenames, compression);
}

InputPipeline map_dataset(const InputPipeline& input, const ElementFunction& f, std::int64_t parallel_calls) {
  if (!input.dataset.valid()) return {};
  Body body = body_of(input, "map", f);
  std::vector<Value> inputs = with_captures(input, body);
  AttrMap attrs{{"f", FunctionRef{body.name}}};
  if (parallel_calls == 0) {
    return add_dataset("MapDataset", input.dataset.graph(), std::move(inputs), std::move(body.types),
                       std::move(body.shapes), std::move(attrs));
  }
  inputs.push_back(constant(input.dataset.graph(), parallel_calls));
  return add_dataset("ParallelMapDatasetV2", input.dataset.graph(), std::move(inputs), std::move(body.types),
                     std::move(body.shapes), std::move(attrs));
}

InputPipeline filter_dataset(const InputPipeline& input,
                             const std::function<Value(const std::vector<Value>&)>& wanted) {
  if (!input.dataset.valid()) return {};
  const Body body = body_of(input, "filter", [&](const std::vector<Value>& components) -> std::vector<Value> {
    return {wanted(components)};
  });
  return add_dataset("FilterDataset", input.dataset.graph(), with_captures(input, body), input.types, input.shapes,
                     {{"predicate", FunctionRef{body.name}}});
}

InputPipeline interleave_dataset(const InputPipeline& input, const DatasetFunction& f, std::int64_t cycle,
                                 std::int64_t block, std::int64_t parallel_calls) {
  if (!input.dataset.valid()) return {};
  Graph& graph = input.dataset.graph();
  InputPipeline inner;
  const Body body = body_of(input, "interleave", [&](const std::vector<Value>& components) -> std::vector<Value> {
    inner = f(components);
    return {inner.dataset};
  });
  std::vector<Value> inputs = with_captures(input, body);
  const AttrMap attrs{{"f", FunctionRef{body.name}}};
  if (cycle == 0) return add_dataset("FlatMapDataset", graph, std::move(inputs), inner.types, inner.shapes, attrs);
  inputs.push_back(constant(graph, cycle));
  inputs.push_back(constant(graph, block));
  if (parallel_calls != 0) inputs.push_back(constant(graph, parallel_calls));
  return add_dataset(parallel_calls == 0 ? "InterleaveDataset" : "ParallelInterleaveDatasetV3", graph,
                     std::move(inputs), inner.types, inner.shapes, attrs);
}

InputPipeline flat_map_dataset(const InputPipeline& input, const DatasetFunction& f) {
  return interleave_dataset(input, f, 0, 0);
}

InputPipeline batch_dataset(const InputPipeline& input, std::int64_t size, bool drop_remainder) {
  if (!input.dataset.valid()) return {};
  Graph& graph = input.dataset.graph();
  std::vector<PartialShape> shapes;
  for (const PartialShape& shape : input.shapes) {
    if (!shape.has_rank()) {
      shapes.push_back(PartialShape::unknown());
      continue;
    }
    std::vector<std::int64_t> sizes = {drop_remainder ? size : PartialShape::kUnknown};
    sizes.insert(sizes.end(), shape.sizes().begin(), shape.sizes().end());
    shapes.emplace_back(std::move(sizes));
  }
  return add_dataset("BatchDatasetV2", graph, {input.dataset, constant(graph, size), constant(graph, drop_remainder)},
                     input.types, std::move(shapes));
}

InputPipeline shuffle_dataset(const InputPipeline& input, std::int64_t buffer, std::int64_t seed, std::int64_t seed2,
                              bool reshuffle_each_iteration) {
  return same_elements("ShuffleDataset", input, {buffer, seed, seed2},
                       {{"reshuffle_each_iteration", reshuffle_each_iteration}});
}
InputPipeline repeat_dataset(const InputPipeline& input, std::int64_t count) {
  return same_elements("RepeatDataset", input, {count});
}
InputPipeline take_dataset(const InputPipeline& input, std::int64_t count) {
  return same_elements("TakeDataset", input, {count});
}
InputPipeline skip_dataset(const InputPipeline& input, std::int64_t count) {
  return same_elements("SkipDataset", input, {count});
}
InputPipeline prefetch_dataset(const InputPipeline& input, std::int64_t buffer) {
  return same_elements("PrefetchDataset", input, {buffer});
}

InputPipeline cache_dataset(const InputPipeline& input, const std::string& filename) {
  if (!input.dataset.valid()) return {};
  Graph& graph = input.dataset.graph();
  return add_dataset("CacheDataset", graph, {input.dataset, constant(graph, filename)}, input.types, input.shapes);
}

InputPipeline concatenate_dataset(const InputPipeline& first, const InputPipeline& second) {
  if (!first.dataset.valid()) return {};
  std::vector<PartialShape> shapes;
  for (std::size_t i = 0; i < first.shapes.size() && i < second.shapes.size(); ++i) {
    shapes.push_back(first.shapes[i] == second.shapes[i] ? first.shapes[i] : PartialShape::unknown());
  }
  return add_dataset("ConcatenateDataset", first.dataset.graph(), {first.dataset, second.dataset}, first.types,
                     std::move(shapes));
}

InputPipeline zip_dataset(const std::vector<InputPipeline>& inputs) {
  if (inputs.empty() || !inputs[0].dataset.valid()) return {};
  std::vector<Value> datasets;
  std::vector<DType> types;
  std::vector<PartialShape> shapes;
  for (const InputPipeline& input : inputs) {
    datasets.push_back(input.dataset);
    types.insert(types.end(), input.types.begin(), input.types.end());
    shapes.insert(shapes.end(), input.shapes.begin(), input.shapes.end());
  }
  return add_dataset("ZipDataset", inputs[0].dataset.graph(), std::move(datasets), std::move(types), std::move(shapes));
}

}  // namespace argosy
