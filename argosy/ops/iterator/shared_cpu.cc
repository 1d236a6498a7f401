// What several datasets may share by handle: caches, seed generators.
#include "argosy/ops/dataset/elements/memory_cache.h"
#include "argosy/ops/dataset/seeds.h"
#include "argosy/ops/iterator/iterator_kernels.h"

namespace argosy::datasets {

namespace {

// Stands where a dataset is to make its own.
class Dummy final : public Resource {
 public:
  std::string describe() const override { return "dummy"; }
};

Status give(KernelContext& c, const char* name, std::shared_ptr<Resource> resource) {
  c.set_output(0, Tensor::scalar(ResourceHandle("", name, std::move(resource))));
  if (c.num_outputs() > 1) c.set_output(1, Tensor::scalar(Variant()));
  return ok_status();
}

Status dummy(KernelContext& c) { return give(c, "dummy", std::make_shared<Dummy>()); }
Status memory_cache(KernelContext& c) { return give(c, "AnonymousMemoryCache", std::make_shared<MemoryCache>()); }

Status seed_generator(KernelContext& c) {
  Seeds seeds;
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (c.input(i).shape().rank() != 0) return invalid_argument("seeds must be scalars");
  }
  seeds.seed = *c.input(0).data<std::int64_t>();
  seeds.seed2 = *c.input(1).data<std::int64_t>();
  if (seeds.seed == 0 && seeds.seed2 == 0) {
    RandomSource& chance = system_random_source();
    seeds = {static_cast<std::int64_t>(chance.next()), static_cast<std::int64_t>(chance.next())};
  }
  const bool anew = c.num_inputs() < 3 || *c.input(2).data<bool>();
  return give(c, "AnonymousSeedGenerator", std::make_shared<SeedGenerator>(seeds, anew));
}

// They go with the last who holds them.
Status nothing(KernelContext& c) { return c.resource_handle(0).status(); }

}  // namespace

void add_shared(KernelRegistry& kernels) {
  kernels.add("AnonymousMemoryCache", "cpu", memory_cache);
  kernels.add("DummyMemoryCache", "cpu", dummy);
  kernels.add("DummySeedGenerator", "cpu", dummy);
  kernels.add("AnonymousSeedGenerator", "cpu", seed_generator);
  kernels.add("AnonymousRandomSeedGenerator", "cpu", seed_generator);
  for (const char* op : {"DeleteMemoryCache", "DeleteSeedGenerator", "DeleteRandomSeedGenerator"}) {
    kernels.add(op, "cpu", nothing);
  }
}

}  // namespace argosy::datasets
