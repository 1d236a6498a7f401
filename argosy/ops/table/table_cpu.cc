#include "argosy/op/kernel/file_policy.h"
#include "argosy/op/state/named_resource.h"
#include "argosy/ops/table/table_state.h"

namespace argosy {

namespace {

// --- handles ---------------------------------------------------------------------------------------------------------

Status check_same(const Table& table, const TableOptions& asked, const std::string& name) {
  const TableOptions& have = table.options();
  if (have.key_dtype == asked.key_dtype && have.value_dtype == asked.value_dtype && have.fixed == asked.fixed &&
      have.value_shape == asked.value_shape && have.key_shape == asked.key_shape) {
    return ok_status();
  }
  return invalid_argument("Conflicting key/value dtypes ", dtype_name(asked.key_dtype), "->",
                          dtype_name(asked.value_dtype), " with ", dtype_name(have.key_dtype), "-",
                          dtype_name(have.value_dtype), " for table ", name);
}

class Handle final : public Kernel {
 public:
  Handle(TableOptions options, bool dense, bool nameless, NamedResource place)
      : options_(std::move(options)), dense_(dense), nameless_(nameless), place_(std::move(place)) {}

  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    const std::string_view op = init.op.name;
    const bool dense = op.find("Dense") != std::string_view::npos;
    TableOptions options;
    options.key_dtype = init.attrs.get_type("key_dtype");
    options.value_dtype = init.attrs.get_type("value_dtype");
    options.fixed = op.find("Mutable") == std::string_view::npos;
    for (const DType d : {options.key_dtype, options.value_dtype}) {
      if (!is_plain(d) && d != DType::kString) {
        return unimplemented("a table of ", dtype_name(options.key_dtype), " to ", dtype_name(options.value_dtype));
      }
    }
    if (const auto* shape = init.attrs.find_as<PartialShape>("value_shape")) {
      if (!shape->is_full()) return invalid_argument("value_shape ", *shape, " must be fully defined");
      ARGOSY_ASSIGN_OR_RETURN(options.value_shape, shape->full());
      if (!dense && shape->rank() > 1) {
        return invalid_argument("Default value must be a vector, got shape ", *shape);
      }
    }
    if (dense) {
      const std::int64_t buckets = init.attrs.get_int("initial_num_buckets");
      if (buckets < 4 || (buckets & (buckets - 1)) != 0) {
        return invalid_argument("initial_num_buckets must be at least 4 and a power of 2, got ", buckets);
      }
      const float load = init.attrs.get_float("max_load_factor");
      if (!(load > 0.0f && load < 1.0f))
        return invalid_argument("max_load_factor must be between 0 and 1, got: ", load);
    }
    return std::unique_ptr<Kernel>(
        std::make_unique<Handle>(std::move(options), dense, op.starts_with("Anonymous"), NamedResource(init)));
  }

  Status run(KernelContext& c) override {
    TableOptions options = options_;
    if (dense_) ARGOSY_RETURN_IF_ERROR(take_marks(c, options));
    const auto fresh = [&] { return std::make_shared<Table>(options); };
    if (nameless_) {
      c.set_output(0, place_.handle(fresh()));
      return ok_status();
    }
    ARGOSY_ASSIGN_OR_RETURN(auto table, place_.find_or_make<Table>(c.resources(), fresh));
    ARGOSY_RETURN_IF_ERROR(check_same(*table, options, place_.name()));
    c.set_output(0, place_.handle(std::move(table)));
    return ok_status();
  }

 private:
  static Status take_marks(KernelContext& c, TableOptions& options) {
    options.empty_key = c.input(0).clone();
    options.key_shape = options.empty_key.shape();
    if (options.key_shape.rank() > 1) {
      return invalid_argument("Empty key must be a scalar or a vector, got shape ", options.key_shape);
    }
    if (options.empty_key.dtype() != options.key_dtype) return invalid_argument("empty_key is of another dtype");
    if (c.num_inputs() < 2) return ok_status();
    options.deleted_key = c.input(1).clone();
    if (!(options.deleted_key.shape() == options.key_shape) || options.deleted_key.dtype() != options.key_dtype) {
      return invalid_argument("Empty and deleted keys must have same shape, got shapes: ", options.key_shape, " and ",
                              options.deleted_key.shape());
    }
    if (attr_equal(AttrValue(options.empty_key), AttrValue(options.deleted_key))) {
      return invalid_argument("Empty and deleted keys cannot be equal");
    }
    return ok_status();
  }

  const TableOptions options_;
  const bool dense_, nameless_;
  NamedResource place_;
};

// --- operations ------------------------------------------------------------------------------------------------------

Status find(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const auto table, c.resource<Table>(0));
  ARGOSY_ASSIGN_OR_RETURN(Tensor values, table->find(c.input(1), c.input(2), c.allocator()));
  c.set_output(0, std::move(values));
  return ok_status();
}

template <Status (Table::*kChange)(const Tensor&, const Tensor&)>
Status change(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const auto table, c.resource<Table>(0));
  return ((*table).*kChange)(c.input(1), c.input(2));
}

Status initialize(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const auto table, c.resource<Table>(0));
  if (c.input(1).shape().rank() != 1) {
    return invalid_argument("Keys must be a vector, but received shape: ", c.input(1).shape());
  }
  if (!table->options().fixed) return invalid_argument("only a table that is filled once can be initialized");
  return table->initialize(c.input(1), c.input(2));
}

Status remove(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const auto table, c.resource<Table>(0));
  return table->remove(c.input(1));
}

Status size(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const auto table, c.resource<Table>(0));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, {}));
  *y->data<std::int64_t>() = table->size();
  return ok_status();
}

Status export_all(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const auto table, c.resource<Table>(0));
  if (table->options().key_dtype != c.output_dtype(0) || table->options().value_dtype != c.output_dtype(1)) {
    return invalid_argument("a ", table->describe(), " cannot be exported as ", dtype_name(c.output_dtype(0)), " and ",
                            dtype_name(c.output_dtype(1)));
  }
  ARGOSY_ASSIGN_OR_RETURN(auto all, table->export_all(c.allocator()));
  c.set_output(0, std::move(all.first));
  c.set_output(1, std::move(all.second));
  return ok_status();
}

class FromText final : public Kernel {
 public:
  explicit FromText(TextTable text) : text_(text) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    const std::string& delimiter = init.attrs.get_string("delimiter");
    if (delimiter.size() != 1) return invalid_argument("delimiter should be only 1 char");
    return std::unique_ptr<Kernel>(
        std::make_unique<FromText>(TextTable{.key_column = init.attrs.get_int("key_index"),
                                             .value_column = init.attrs.get_int("value_index"),
                                             .lines = init.attrs.get_int("vocab_size"),
                                             .delimiter = delimiter[0],
                                             .offset = init.attrs.get_int("offset")}));
  }
  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(const auto table, c.resource<Table>(0));
    const Tensor& name = c.input(1);
    if (name.dtype() != DType::kString || name.shape().rank() != 0) {
      return invalid_argument("filename should be a single string, but got ", name.shape());
    }
    if (!table->options().fixed) return invalid_argument("only a table that is filled once can be initialized");
    ARGOSY_ASSIGN_OR_RETURN(const std::string path, allowed_file(c, *name.data<std::string>()));
    ARGOSY_ASSIGN_OR_RETURN(const auto rows,
                            read_text_table(path, text_, table->options().key_dtype, table->options().value_dtype));
    return table->initialize(rows.first, rows.second);
  }

 private:
  const TextTable text_;
};

}  // namespace

void add_kernels_cpu_table(KernelRegistry& kernels) {
  for (const char* op : {"HashTable", "MutableHashTable", "MutableHashTableOfTensors", "MutableDenseHashTable"}) {
    kernels.add(op, "cpu", Handle::make);
    kernels.add(str_cat(op, "V2"), "cpu", Handle::make);
    kernels.add(str_cat("Anonymous", op), "cpu", Handle::make);
  }
  for (const char* v : {"", "V2"}) {
    kernels.add(str_cat("LookupTableFind", v), "cpu", find);
    kernels.add(str_cat("LookupTableInsert", v), "cpu", change<&Table::insert>);
    kernels.add(str_cat("LookupTableImport", v), "cpu", change<&Table::import_all>);
    kernels.add(str_cat("LookupTableSize", v), "cpu", size);
    kernels.add(str_cat("LookupTableExport", v), "cpu", export_all);
    kernels.add(str_cat("InitializeTable", v), "cpu", initialize);
    kernels.add(str_cat("InitializeTableFromTextFile", v), "cpu", FromText::make);
  }
  kernels.add("LookupTableRemoveV2", "cpu", remove);
}

}  // namespace argosy
