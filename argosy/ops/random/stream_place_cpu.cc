// Kernels of stream_place.h.
#include "argosy/ops/random/op_generator.h"

namespace argosy {

namespace {

std::int64_t joined(std::uint32_t low, std::uint32_t high) {
  return static_cast<std::int64_t>(low | (std::uint64_t{high} << 32));
}
std::pair<std::uint32_t, std::uint32_t> halves(std::int64_t v) {
  const auto bits = static_cast<std::uint64_t>(v);
  return {static_cast<std::uint32_t>(bits), static_cast<std::uint32_t>(bits >> 32)};
}

class StreamPlace final : public Kernel {
 public:
  StreamPlace(const KernelInit&, std::shared_ptr<SharedPhilox> stream) : stream_(std::move(stream)) {}
  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const place, c.output(0, {3}));
    const Philox at = stream_->place();
    auto* const to = place->data<std::int64_t>();
    to[0] = joined(at.key()[0], at.key()[1]);
    to[1] = joined(at.counter()[0], at.counter()[1]);
    to[2] = joined(at.counter()[2], at.counter()[3]);
    return ok_status();
  }

 private:
  const std::shared_ptr<SharedPhilox> stream_;
};

class SetStreamPlace final : public Kernel {
 public:
  SetStreamPlace(const KernelInit&, std::shared_ptr<SharedPhilox> stream) : stream_(std::move(stream)) {}
  Status run(KernelContext& c) override {
    if (c.input(0).shape() != Shape({3}))
      return invalid_argument("_SetStreamPlace: ", c.input(0).shape(), " is no place");
    const auto* const from = c.input(0).data<std::int64_t>();
    const auto key = halves(from[0]), low = halves(from[1]), high = halves(from[2]);
    stream_->go_to(Philox({key.first, key.second}, {low.first, low.second, high.first, high.second}));
    return ok_status();
  }

 private:
  const std::shared_ptr<SharedPhilox> stream_;
};

}  // namespace

void add_stream_places(KernelRegistry& kernels) {
  kernels.add("_StreamPlace", "cpu", make_with_generator<StreamPlace>);
  kernels.add("_SetStreamPlace", "cpu", make_with_generator<SetStreamPlace>);
}

}  // namespace argosy
