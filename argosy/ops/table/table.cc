#include "argosy/ops/table/table.h"

#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/handle_ops.h"
#include "argosy/ops/sharding_parts.h"

namespace argosy {

namespace {

// --- shapes ----------------------------------------------------------------------------------------------------------

// A table's fact: its values, then its keys.
void set_table(ShapeContext& c, PartialShape value, PartialShape key) {
  HandleFact table{c.attrs().get_type("value_dtype"), std::move(value)};
  table.more.push_back({c.attrs().get_type("key_dtype"), std::move(key)});
  c.set_output(0, PartialShape::scalar());
  c.set_handle(0, std::move(table));
}

Status scalar_table_shape(ShapeContext& c) {
  set_table(c, PartialShape::scalar(), PartialShape::scalar());
  return ok_status();
}

Status tensor_table_shape(ShapeContext& c) {
  set_table(c, c.attrs().get<PartialShape>("value_shape"), PartialShape::scalar());
  return ok_status();
}

Status dense_table_shape(ShapeContext& c) {
  set_table(c, c.attrs().get<PartialShape>("value_shape"), c.input(0));
  return ok_status();
}

Status handle_only(ShapeContext& c) { return c.with_rank(0, 0).status(); }

// keys' shape without a key's at its end, then a value's.
Status found_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(handle_only(c));
  const HandleFact* table = c.handle(0);
  const PartialShape& keys = c.input(1);
  if (table == nullptr || table->more.size() != 1 || !table->shape.has_rank() || !keys.has_rank()) return ok_status();
  const PartialShape& key = table->more[0].shape;
  if (!key.has_rank() || key.rank() > keys.rank()) return ok_status();
  std::vector<std::int64_t> sizes(keys.sizes().begin(), keys.sizes().end() - key.rank());
  sizes.insert(sizes.end(), table->shape.sizes().begin(), table->shape.sizes().end());
  c.set_output(0, PartialShape(std::move(sizes)));
  return ok_status();
}

Status size_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(handle_only(c));
  return scalar_output(c);
}
Status old_size_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(check_ref_handle(c));
  return scalar_output(c);
}

Status export_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(handle_only(c));
  return unknown_output(c);
}
Status old_export_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(check_ref_handle(c));
  return unknown_output(c);
}

Status text_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(handle_only(c));
  return c.with_rank(1, 0).status();
}
Status old_text_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(check_ref_handle(c));
  return c.with_rank(1, 0).status();
}

// --- definitions -----------------------------------------------------------------------------------------------------

void add_table(OpRegistry& ops, std::string name, const char* doc, std::vector<std::string> inputs,
               std::vector<std::string> attrs, ShapeFn shape, bool old = false) {
  ops.add({.name = std::move(name),
           .doc = doc,
           .inputs = std::move(inputs),
           .outputs = {old ? "table_handle: Ref(string)" : "table_handle: resource"},
           .attrs = std::move(attrs),
           .shape = shape,
           .gradient = kNotDifferentiable,
           .cost = free_cost,
           .stateful = true,
           .cpu_only = true});
}

void define_tables(OpRegistry& ops) {
  const std::vector<std::string> types = {"key_dtype: type", "value_dtype: type"};
  const auto with = [&](std::vector<std::string> more, bool named) {
    std::vector<std::string> attrs = types;
    if (named) {
      attrs.insert(attrs.end(),
                   {"container: string = ''", "shared_name: string = ''", "use_node_name_sharing: bool = false"});
    }
    attrs.insert(attrs.end(), more.begin(), more.end());
    return attrs;
  };
  const std::string value_shape = "value_shape: shape = scalar";
  const std::vector<std::string> dense = {value_shape, "initial_num_buckets: int = 131072",
                                          "max_load_factor: float = 0.8"};
  const char* fixed = "A table that is filled once.";
  const char* changing = "A table that may change.";
  const std::vector<std::string> marks = {"empty_key: key_dtype", "deleted_key: key_dtype"};
  for (const bool old : {false, true}) {
    const std::string version = old ? "" : "V2";
    const auto shape = [&](ShapeFn f) { return old ? ref_handle_shape : f; };
    add_table(ops, "HashTable" + version, fixed, {}, with({}, true), shape(scalar_table_shape), old);
    add_table(ops, "MutableHashTable" + version, changing, {}, with({}, true), shape(scalar_table_shape), old);
    add_table(ops, "MutableHashTableOfTensors" + version, changing, {}, with({value_shape}, true),
              shape(tensor_table_shape), old);
  }
  add_table(ops, "MutableDenseHashTableV2", changing, marks, with(dense, true), dense_table_shape);
  add_table(ops, "MutableDenseHashTable", changing, {marks[0]}, with(dense, true), ref_handle_shape, true);
  add_table(ops, "AnonymousHashTable", fixed, {}, with({}, false), scalar_table_shape);
  add_table(ops, "AnonymousMutableHashTable", changing, {}, with({}, false), scalar_table_shape);
  add_table(ops, "AnonymousMutableHashTableOfTensors", changing, {}, with({value_shape}, false), tensor_table_shape);
  add_table(ops, "AnonymousMutableDenseHashTable", changing, marks, with(dense, false), dense_table_shape);
}

std::vector<HandleOpRow> rows() {
  const std::string tin = "Tin: type", tout = "Tout: type";
  return {
      {{"LookupTableFind",
        "The values of keys.",
        {"table_handle: resource", "keys: Tin", "default_value: Tout"},
        {"values: Tout"},
        {tin, tout},
        found_shape,
        {.effect = Effect::kReads}},
       old_export_shape},
      {{"LookupTableInsert",
        "Adds or replaces values.",
        {"table_handle: resource", "keys: Tin", "values: Tout"},
        {},
        {tin, tout},
        handle_only},
       check_ref_handle},
      {{"LookupTableRemove", "Takes keys out.", {"table_handle: resource", "keys: Tin"}, {}, {tin}, handle_only},
       nullptr},
      {{"LookupTableSize",
        "How many keys there are.",
        {"table_handle: resource"},
        {"size: int64"},
        {},
        size_shape,
        {.effect = Effect::kReads}},
       old_size_shape},
      {{"LookupTableExport",
        "All keys and their values.",
        {"table_handle: resource"},
        {"keys: Tkeys", "values: Tvalues"},
        {"Tkeys: type", "Tvalues: type"},
        export_shape,
        {.effect = Effect::kReads}},
       old_export_shape},
      {{"LookupTableImport",
        "From now on only these keys.",
        {"table_handle: resource", "keys: Tin", "values: Tout"},
        {},
        {tin, tout},
        handle_only},
       check_ref_handle},
      {{"InitializeTable",
        "Fills a table.",
        {"table_handle: resource", "keys: Tkey", "values: Tval"},
        {},
        {"Tkey: type", "Tval: type"},
        handle_only},
       check_ref_handle},
      {{"InitializeTableFromTextFile",
        "Fills a table from the lines of a file.",
        {"table_handle: resource", "filename: string"},
        {},
        {"key_index: int >= -2", "value_index: int >= -2", "vocab_size: int >= -1 = -1", "delimiter: string = '\t'",
         "offset: int = 0"},
        text_shape,
        {.opens_files = true}},
       old_text_shape},
  };
}

}  // namespace

static Status from_dataset_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(0, 0).status());
  return c.with_rank(1, 0).status();
}

static void add_table_ops(OpRegistry& ops) {
  define_tables(ops);
  add_handle_rows(ops, rows(), {.cost = free_cost, .cpu_only = true});
  ops.add({.name = "InitializeTableFromDataset",
           .doc = "Fills a table from a dataset of keys and values.",
           .inputs = {"table_handle: resource", "dataset: variant"},
           .shape = from_dataset_shape,
           .gradient = kNotDifferentiable,
           .cost = free_cost,
           .stateful = true,
           .cpu_only = true});
}

void define_table(OpRegistry& ops) {
  with_sharding(ops, add_table_ops,
                {{"LookupTableFindV2", "., i.., v.. -> i.. v..; whole v.."},
                 {"LookupTableFind", "., i.., v.. -> i.. v..; whole v.."}},
                "once: a table is in one place");
}

// --- builders --------------------------------------------------------------------------------------------------------

Value hash_table(Graph& graph, const TableSpec& spec, std::string_view name) {
  return graph.add("HashTableV2", {},
                   {{"key_dtype", spec.key}, {"value_dtype", spec.value}, {"shared_name", spec.shared_name}}, name);
}

Value mutable_hash_table(Graph& graph, const TableSpec& spec, std::string_view name) {
  return graph.add("MutableHashTableOfTensorsV2", {},
                   {{"key_dtype", spec.key},
                    {"value_dtype", spec.value},
                    {"value_shape", spec.value_shape},
                    {"shared_name", spec.shared_name}},
                   name);
}

Value initialize_table(Value table, Value keys, Value values) {
  return table.valid() ? table.graph().add("InitializeTableV2", {table, keys, values}).control() : Value();
}
Value table_insert(Value table, Value keys, Value values) {
  return table.valid() ? table.graph().add("LookupTableInsertV2", {table, keys, values}).control() : Value();
}
Value table_remove(Value table, Value keys) {
  return table.valid() ? table.graph().add("LookupTableRemoveV2", {table, keys}).control() : Value();
}
Value table_find(Value table, Value keys, Value missing) {
  return table.valid() ? table.graph().add("LookupTableFindV2", {table, keys, missing}) : Value();
}
Value table_size(Value table) { return table.valid() ? table.graph().add("LookupTableSizeV2", {table}) : Value(); }

}  // namespace argosy
