#include "argosy/ops/random/op_generator.h"

#include <string>

#include "argosy/op/state/restorable.h"
#include "argosy/op/state/session_op_state.h"

namespace argosy {

// Not in an unnamed namespace, where the program and a plug-in would each have a type of their own. Their kernels find
// one resource by its type (session_op_state()), so they draw from one stream.
struct OpGenerator final : Resource, Restorable {
  OpGenerator(std::int64_t seed, std::int64_t seed2) : philox(seed, seed2) {}
  std::string describe() const override { return "stream of random numbers"; }
  Result<std::function<Status()>> snapshot() const override {
    auto& stream = const_cast<SharedPhilox&>(philox);
    return std::function<Status()>([&stream, place = philox.place()] {
      stream.go_to(place);
      return ok_status();
    });
  }
  Result<std::vector<Tensor>> contents() const override {
    // Draws advance this half of the counter alone (for 2^64 blocks). The key and the upper half stay as the seeds made
    // them, so they do not tell two states of one stream apart.
    return std::vector<Tensor>{Tensor::scalar(static_cast<std::int64_t>(philox.place().low()))};
  }
  SharedPhilox philox;
};

Result<std::shared_ptr<SharedPhilox>> op_generator(const KernelInit& init) {
  KernelInit whose = init;
  const auto* const stream_of = init.attrs.find_as<std::string>("stream");
  if (stream_of != nullptr && !stream_of->empty()) whose.node = *stream_of;
  ARGOSY_ASSIGN_OR_RETURN(const auto stream, session_op_state<OpGenerator>(whose, [&] {
                            return std::make_shared<OpGenerator>(init.attrs.get_int("seed"),
                                                                 init.attrs.get_int("seed2"));
                          }));
  return std::shared_ptr<SharedPhilox>(stream, &stream->philox);
}

}  // namespace argosy
