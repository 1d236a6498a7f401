#include "argosy/ops/random/op_stream.h"

#include <string>

#include "argosy/op/resource_manager.h"

namespace argosy {

namespace {

struct Stream final : Resource {
  Stream(std::int64_t seed, std::int64_t seed2) : philox(seed, seed2) {}
  std::string describe() const override { return "stream of random numbers"; }
  SharedPhilox philox;
};

}  // namespace

std::shared_ptr<SharedPhilox> op_stream(const KernelInit& init) {
  const auto fresh = [&] { return std::make_shared<Stream>(init.attrs.get_int("seed"), init.attrs.get_int("seed2")); };
  std::shared_ptr<Stream> stream;
  if (init.session != nullptr) {
    auto found = init.session->find_or_make<Stream>("random numbers", std::string(init.node), fresh);
    if (found.ok()) stream = *std::move(found);
  }
  if (stream == nullptr) stream = fresh();
  return {stream, &stream->philox};
}

}  // namespace argosy
