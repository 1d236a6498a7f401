// Base of the kernels that make datasets. It finds arguments by name, and prepares functions when the step is compiled.
// Internal to the family.
#pragma once

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "argosy/ops/dataset/dataset_value.h"
#include "argosy/tensor/nesting.h"

namespace argosy::datasets {

// The inputs that belong to each argument of an op, by the argument's name.
class ArgumentMap {
 public:
  static Result<ArgumentMap> make(const KernelInit& init);
  // REQUIRES: the op has this argument.
  std::pair<int, int> range(const std::string& name) const { return ranges_.at(name); }
  bool has(const std::string& name) const { return ranges_.count(name) > 0; }

 private:
  std::map<std::string, std::pair<int, int>> ranges_;  // (first, count)
};

// The kernel's copy of its node.
struct DatasetNode {
  std::string op, name;
  AttrMap attrs;
  ArgumentMap arguments;
  std::map<std::string, std::shared_ptr<FunctionCall>> functions;  // by attribute
  static Result<DatasetNode> make(const KernelInit& init);
};

// The arguments of one run. Names are those of the op's arguments and attributes.
class DatasetArgs {
 public:
  DatasetArgs(const DatasetNode& node, KernelContext& c) : node_(node), c_(c) {}
  const std::string& op() const { return node_.op; }
  const std::string& node() const { return node_.name; }
  const AttrMap& attrs() const { return node_.attrs; }
  KernelContext& context() const { return c_; }

  bool has(const std::string& name) const { return node_.arguments.has(name); }
  const Tensor& tensor(const std::string& name) const { return c_.input(node_.arguments.range(name).first); }
  std::vector<Tensor> tensors(const std::string& name) const;  // owned
  Result<DatasetPtr> dataset(const std::string& name = "input_dataset") const;
  Result<std::vector<DatasetPtr>> dataset_list(const std::string& name) const;
  // The value of a scalar argument. INVALID_ARGUMENT, in TensorFlow's words, if it is not a scalar.
  Result<std::int64_t> integer(const std::string& name) const;
  Result<bool> boolean(const std::string& name) const;
  Result<std::string> text(const std::string& name) const;
  // The strings of a vector; of a scalar, one.
  Result<std::vector<std::string>> texts(const std::string& name) const;
  // The same for paths, all of which the step must be allowed to access (argosy/op/kernel/file_policy.h).
  Result<std::vector<std::string>> files(const std::string& name) const;
  Captured function(const std::string& attr, const std::string& captured = "other_arguments") const;
  template <typename T>
  Result<std::shared_ptr<T>> resource(const std::string& name) const {
    return c_.resource<T>(node_.arguments.range(name).first);
  }

  std::vector<DType> types(const char* attr = "output_types") const { return attrs().get<std::vector<DType>>(attr); }
  std::vector<PartialShape> shapes() const { return attrs().get<std::vector<PartialShape>>("output_shapes"); }

 private:
  Result<const Tensor*> scalar(const std::string& name) const;
  const DatasetNode& node_;
  KernelContext& c_;
};

// INVALID_ARGUMENT unless the function returns the components of the dataset's elements.
Status check_returns(const Captured& f, const std::vector<DType>& types);

// Sets the nesting depth of a new dataset, and returns it. A dataset that others hold too is not new, and keeps its
// own.
DatasetPtr nested(DatasetPtr dataset, int nesting);

template <Result<DatasetPtr> (*kMake)(const DatasetArgs&)>
class DatasetKernel final : public Kernel {
 public:
  explicit DatasetKernel(DatasetNode node) : node_(std::move(node)) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    ARGOSY_ASSIGN_OR_RETURN(DatasetNode node, DatasetNode::make(init));
    return std::unique_ptr<Kernel>(std::make_unique<DatasetKernel>(std::move(node)));
  }
  Status run(KernelContext& c) override {
    int nesting = 1;  // of a dataset that keeps all inputs of the kernel
    for (int i = 0; i < c.num_inputs(); ++i) nesting = std::max(nesting, nesting_around(c.input(i)));
    ARGOSY_RETURN_IF_ERROR(check_nesting(nesting));
    ARGOSY_ASSIGN_OR_RETURN(DatasetPtr dataset, kMake(DatasetArgs(node_, c)));
    ARGOSY_RETURN_IF_ERROR(dataset->check_types());
    c.set_output(0, dataset_handle(nested(std::move(dataset), nesting)));
    return ok_status();
  }

 private:
  const DatasetNode node_;
};

template <Result<DatasetPtr> (*kMake)(const DatasetArgs&)>
void add_dataset(KernelRegistry& kernels, std::initializer_list<const char*> ops) {
  for (const char* op : ops) kernels.add(op, "cpu", DatasetKernel<kMake>::make);
}

// Registration functions of the family's files.
void add_sources(KernelRegistry& kernels);
void add_files(KernelRegistry& kernels);
void add_maps(KernelRegistry& kernels);
void add_parallel_maps(KernelRegistry& kernels);
void add_batches(KernelRegistry& kernels);
void add_padded_batches(KernelRegistry& kernels);
void add_shuffles(KernelRegistry& kernels);
void add_orders(KernelRegistry& kernels);
void add_wrappers(KernelRegistry& kernels);
void add_thread_pools(KernelRegistry& kernels);
void add_auto_shards(KernelRegistry& kernels);
void add_interleaves(KernelRegistry& kernels);
void add_prefetch(KernelRegistry& kernels);
void add_caches(KernelRegistry& kernels);
void add_windows(KernelRegistry& kernels);
void add_directed_interleave(KernelRegistry& kernels);
void add_groups(KernelRegistry& kernels);
void add_generators(KernelRegistry& kernels);
void add_reductions(KernelRegistry& kernels);
void add_csv(KernelRegistry& kernels);
void add_examples(KernelRegistry& kernels);
void add_resized(KernelRegistry& kernels);
void add_sparse_batches(KernelRegistry& kernels);
void add_known(KernelRegistry& kernels);

}  // namespace argosy::datasets
