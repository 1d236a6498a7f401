#include "argosy/op/kernel/file_policy.h"
#include "argosy/ops/dataset/dataset_kernel.h"

namespace argosy {

namespace datasets {

Result<ArgumentMap> ArgumentMap::make(const KernelInit& init) {
  ArgumentMap map;
  int next = 0;
  for (const ArgDef& arg : init.op.input_args) {
    ARGOSY_ASSIGN_OR_RETURN(const auto dtypes, arg_dtypes({arg}, init.attrs));
    const int count = static_cast<int>(dtypes.size());
    map.ranges_[arg.name] = {next, count};
    next += count;
  }
  return map;
}

Result<DatasetNode> DatasetNode::make(const KernelInit& init) {
  DatasetNode node{init.op.name, std::string(init.node), init.attrs, {}, {}};
  ARGOSY_ASSIGN_OR_RETURN(node.arguments, ArgumentMap::make(init));
  const std::string order = init.attrs.get_or<std::string>("deterministic", "default");
  if (order != "true" && order != "false" && order != "default") {
    return invalid_argument("Unrecognized determinism policy: ", order);
  }
  for (const AttrDef& def : init.op.attr_defs) {
    const auto* const f = init.attrs.find_as<FunctionRef>(def.name);
    if (f == nullptr) continue;
    if (init.functions == nullptr) {
      return not_found("there is no function \"", f->name, "\": the graph has none").with_id("ARG-FN-005");
    }
    ARGOSY_ASSIGN_OR_RETURN(node.functions[def.name], init.functions->prepare(f->name));
  }
  return node;
}

std::vector<Tensor> DatasetArgs::tensors(const std::string& name) const {
  const auto [first, count] = node_.arguments.range(name);
  std::vector<Tensor> list;
  for (int i = first; i < first + count; ++i) list.push_back(c_.input(i).owned());
  return list;
}

Result<DatasetPtr> DatasetArgs::dataset(const std::string& name) const {
  return dataset_in(c_.input(node_.arguments.range(name).first));
}

Result<std::vector<DatasetPtr>> DatasetArgs::dataset_list(const std::string& name) const {
  const auto [first, count] = node_.arguments.range(name);
  std::vector<DatasetPtr> list;
  for (int i = first; i < first + count; ++i) {
    ARGOSY_ASSIGN_OR_RETURN(DatasetPtr d, dataset_in(c_.input(i)));
    list.push_back(std::move(d));
  }
  return list;
}

Result<const Tensor*> DatasetArgs::scalar(const std::string& name) const {
  const Tensor& t = c_.input(node_.arguments.range(name).first);
  if (t.shape().rank() != 0) return invalid_argument(name, " must be a scalar");
  return &t;
}

Result<std::int64_t> DatasetArgs::integer(const std::string& name) const {
  ARGOSY_ASSIGN_OR_RETURN(const Tensor* t, scalar(name));
  return to_int64(*t, name);
}

Result<bool> DatasetArgs::boolean(const std::string& name) const {
  ARGOSY_ASSIGN_OR_RETURN(const Tensor* t, scalar(name));
  return *t->data<bool>();
}

Result<std::string> DatasetArgs::text(const std::string& name) const {
  ARGOSY_ASSIGN_OR_RETURN(const Tensor* t, scalar(name));
  return *t->data<std::string>();
}

Result<std::vector<std::string>> DatasetArgs::texts(const std::string& name) const {
  const Tensor& t = c_.input(node_.arguments.range(name).first);
  if (t.shape().rank() > 1) return invalid_argument("`", name, "` must be a scalar or a vector.");
  const auto values = t.values<std::string>();
  return std::vector<std::string>(values.begin(), values.end());
}

Result<std::vector<std::string>> DatasetArgs::files(const std::string& name) const {
  ARGOSY_ASSIGN_OR_RETURN(std::vector<std::string> paths, texts(name));
  for (std::string& path : paths) {
    ARGOSY_ASSIGN_OR_RETURN(path, allowed_file(c_, path));
  }
  return paths;
}

Captured DatasetArgs::function(const std::string& attr, const std::string& captured) const {
  return Captured(node_.functions.at(attr), tensors(captured));
}

Status check_returns(const Captured& f, const std::vector<DType>& types) {
  if (f.returns().size() != types.size()) {
    return invalid_argument("Number of components does not match: expected ", types.size(), " types but got ",
                            f.returns().size(), ".");
  }
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (f.returns()[i] == types[i]) continue;
    return invalid_argument("Data type mismatch at component ", i, ": expected ", dtype_name(types[i]), " but got ",
                            dtype_name(f.returns()[i]), ".");
  }
  return ok_status();
}

DatasetPtr nested(DatasetPtr dataset, int nesting) {
  if (dataset.use_count() == 1) std::const_pointer_cast<DatasetValue>(dataset)->set_nesting(nesting);
  return dataset;
}

}  // namespace datasets

void add_kernels_cpu_dataset(KernelRegistry& kernels) {
  datasets::add_sources(kernels);
  datasets::add_files(kernels);
  datasets::add_maps(kernels);
  datasets::add_parallel_maps(kernels);
  datasets::add_batches(kernels);
  datasets::add_padded_batches(kernels);
  datasets::add_shuffles(kernels);
  datasets::add_orders(kernels);
  datasets::add_wrappers(kernels);
  datasets::add_thread_pools(kernels);
  datasets::add_auto_shards(kernels);
  datasets::add_interleaves(kernels);
  datasets::add_prefetch(kernels);
  datasets::add_caches(kernels);
  datasets::add_windows(kernels);
  datasets::add_directed_interleave(kernels);
  datasets::add_groups(kernels);
  datasets::add_generators(kernels);
  datasets::add_reductions(kernels);
  datasets::add_csv(kernels);
  datasets::add_examples(kernels);
  datasets::add_resized(kernels);
  datasets::add_sparse_batches(kernels);
  datasets::add_known(kernels);
}

}  // namespace argosy
