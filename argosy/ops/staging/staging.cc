#include "argosy/ops/staging/staging.h"

#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"

namespace argosy {

namespace {

struct Row {
  std::string name;
  const char* doc;
  std::vector<std::string> inputs, outputs;
  bool some = true;  // at least one dtype
  bool async = true;
  bool puts_map = false;
};

// Of a map, the ordered and the other one: here both give the least key first.
std::vector<Row> map_rows(const std::string& kind) {
  return {
      {kind + "Stage",
       "Values of a key, all or those of `indices`.",
       {"key: int64", "indices: int32", "values: fake_dtypes"},
       {},
       false,
       true,
       true},
      {kind + "Peek", "Values of a key, once it has all.", {"key: int64", "indices: int32"}, {"values: dtypes"}},
      {kind + "Unstage",
       "Takes values of a key, once it has all.",
       {"key: int64", "indices: int32"},
       {"values: dtypes"}},
      {kind + "UnstageNoKey",
       "Takes values of the first key that has all.",
       {"indices: int32"},
       {"key: int64", "values: dtypes"}},
      {kind + "Size", "How many keys have all their values.", {}, {"size: int32"}, false, false},
      {kind + "IncompleteSize", "How many keys have some of their values.", {}, {"size: int32"}, false, false},
      {kind + "Clear", "Forgets all keys.", {}, {}, false, false},
  };
}

std::vector<Row> all_rows() {
  std::vector<Row> rows = {
      {"Stage", "Puts an element in.", {"values: dtypes"}, {}},
      {"Unstage", "Takes the oldest element.", {}, {"values: dtypes"}},
      {"StagePeek", "Element `index`, which stays.", {"index: int32"}, {"values: dtypes"}},
      {"StageSize", "How many elements there are.", {}, {"size: int32"}, false, false},
      {"StageClear", "Forgets all elements.", {}, {}, false, false},
  };
  for (const char* kind : {"Map", "OrderedMap"}) {
    for (Row& row : map_rows(kind)) rows.push_back(std::move(row));
  }
  return rows;
}

Status staging_shape(ShapeContext& c) {
  const bool sized = c.op().name.ends_with("Size"), without_key = c.op().name.ends_with("NoKey");
  if (sized || without_key) c.set_output(0, PartialShape::scalar());
  return ok_status();
}

AttrMap attrs_of(const StagingSpec& spec) {
  return {{"dtypes", spec.dtypes},
          {"capacity", spec.capacity},
          {"memory_limit", spec.memory_limit},
          {"shared_name", spec.shared_name}};
}

}  // namespace

void define_staging(OpRegistry& ops) {
  for (Row& row : all_rows()) {
    std::vector<std::string> attrs = {"capacity: int >= 0 = 0", "memory_limit: int >= 0 = 0",
                                      row.some ? "dtypes: list(type) >= 1" : "dtypes: list(type)",
                                      "container: string = ''", "shared_name: string = ''"};
    if (row.puts_map) attrs.push_back("fake_dtypes: list(type) >= 1");
    ops.add({.name = row.name,
             .doc = row.doc,
             .inputs = row.inputs,
             .outputs = row.outputs,
             .attrs = std::move(attrs),
             .shape = staging_shape,
             .gradient = kNotDifferentiable,
             .cost = free_cost,
             .stateful = true,
             .cpu_only = true,
             .in_host_memory = true,
             .async = row.async});
  }
}

Value stage(Graph& graph, const StagingSpec& spec, const std::vector<Value>& values) {
  return graph.add("Stage", values, attrs_of(spec));
}

std::vector<Value> unstage(Graph& graph, const StagingSpec& spec) {
  const Value first = graph.add("Unstage", {}, attrs_of(spec));
  std::vector<Value> values;
  for (std::size_t i = 0; i < spec.dtypes.size(); ++i) values.push_back(first.output(static_cast<int>(i)));
  return values;
}

Value stage_size(Graph& graph, const StagingSpec& spec) { return graph.add("StageSize", {}, attrs_of(spec)); }

}  // namespace argosy
