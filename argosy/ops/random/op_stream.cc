#include "argosy/ops/random/op_stream.h"

#include <string>

#include "argosy/op/kept.h"

namespace argosy {

namespace {

struct Stream final : Resource {
  Stream(std::int64_t seed, std::int64_t seed2) : philox(seed, seed2) {}
  std::string describe() const override { return "stream of random numbers"; }
  SharedPhilox philox;
};

}  // namespace

std::shared_ptr<SharedPhilox> op_stream(const KernelInit& init) {
  const auto stream = kept<Stream>(
      init, [&] { return std::make_shared<Stream>(init.attrs.get_int("seed"), init.attrs.get_int("seed2")); });
  return {stream, &stream->philox};
}

}  // namespace argosy
