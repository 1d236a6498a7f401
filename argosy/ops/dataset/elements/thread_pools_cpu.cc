// Thread pools that a program makes for a dataset. They are only handles, since our scheduler has its own threads.
#include "argosy/op/state/named_resource.h"
#include "argosy/ops/dataset/dataset_kernel.h"

namespace argosy::datasets {

namespace {

class PoolOfThreads final : public Resource {
 public:
  std::string describe() const override { return "pool of threads"; }
};

class PoolHandle final : public Kernel {
 public:
  explicit PoolHandle(const KernelInit& init) : place_(init) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<PoolHandle>(init));
  }
  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(
        auto pool, place_.find_or_make<PoolOfThreads>(c.resources(), [] { return std::make_shared<PoolOfThreads>(); }));
    c.set_output(0, place_.handle(std::move(pool)));
    return ok_status();
  }

 private:
  NamedResource place_;
};

Result<DatasetPtr> make_on_pool(const DatasetArgs& a) {
  ARGOSY_RETURN_IF_ERROR(a.resource<PoolOfThreads>("thread_pool").status());
  return a.dataset();
}

}  // namespace

void add_thread_pools(KernelRegistry& kernels) {
  for (const char* op : {"ThreadPoolHandle", "ExperimentalThreadPoolHandle"}) kernels.add(op, "cpu", PoolHandle::make);
  add_dataset<make_on_pool>(kernels, {"ThreadPoolDataset", "ExperimentalThreadPoolDataset"});
}

}  // namespace argosy::datasets
