#include "argosy/ops/staging/staging.h"

#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/op_rows.h"
#include "argosy/ops/sharding_parts.h"

namespace argosy {

namespace {

// "dtypes" holds one dtype at least, or any number of them.
std::vector<std::string> attrs_with(const std::string& dtypes) {
  return {"capacity: int >= 0 = 0", "memory_limit: int >= 0 = 0", dtypes, "container: string = ''",
          "shared_name: string = ''"};
}
std::vector<std::string> some_dtypes() { return attrs_with("dtypes: list(type) >= 1"); }
std::vector<std::string> any_dtypes() { return attrs_with("dtypes: list(type)"); }

// Of a map, the ordered and the other one: here both give the least key first.
std::vector<OpRow> map_rows(const std::string& kind) {
  const OpFacts waits = {.async = true};
  std::vector<std::string> put_attrs = any_dtypes();
  put_attrs.push_back("fake_dtypes: list(type) >= 1");
  return {
      {kind + "Stage",
       "Values of a key, all or those of `indices`.",
       {"key: int64", "indices: int32", "values: fake_dtypes"},
       {},
       put_attrs,
       nullptr,
       waits},
      {kind + "Peek",
       "Values of a key, once it has all.",
       {"key: int64", "indices: int32"},
       {"values: dtypes"},
       some_dtypes(),
       nullptr,
       waits},
      {kind + "Unstage",
       "Takes values of a key, once it has all.",
       {"key: int64", "indices: int32"},
       {"values: dtypes"},
       some_dtypes(),
       nullptr,
       waits},
      {kind + "UnstageNoKey",
       "Takes values of the first key that has all.",
       {"indices: int32"},
       {"key: int64", "values: dtypes"},
       some_dtypes(),
       nullptr,
       waits},
      {kind + "Size", "How many keys have all their values.", {}, {"size: int32"}, any_dtypes()},
      {kind + "IncompleteSize", "How many keys have some of their values.", {}, {"size: int32"}, any_dtypes()},
      {kind + "Clear", "Forgets all keys.", {}, {}, any_dtypes()},
  };
}

std::vector<OpRow> all_rows() {
  const OpFacts waits = {.async = true};
  std::vector<OpRow> rows = {
      {"Stage", "Puts an element in.", {"values: dtypes"}, {}, some_dtypes(), nullptr, waits},
      {"Unstage", "Takes the oldest element.", {}, {"values: dtypes"}, some_dtypes(), nullptr, waits},
      {"StagePeek",
       "Element `index`, which stays.",
       {"index: int32"},
       {"values: dtypes"},
       some_dtypes(),
       nullptr,
       waits},
      {"StageSize", "How many elements there are.", {}, {"size: int32"}, any_dtypes()},
      {"StageClear", "Forgets all elements.", {}, {}, any_dtypes()},
  };
  for (const char* kind : {"Map", "OrderedMap"}) {
    for (OpRow& row : map_rows(kind)) rows.push_back(std::move(row));
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

static void add_staging_ops(OpRegistry& ops) {
  add_rows(ops, all_rows(),
           {.shape = staging_shape, .cost = free_cost, .stateful = true, .cpu_only = true, .in_host_memory = true});
}

void define_staging(OpRegistry& ops) {
  with_sharding(ops, add_staging_ops, {}, "once: what is staged is in one place");
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
