#include "argosy/ops/random/random_shard.h"

#include "argosy/base/checked.h"
#include "argosy/ops/collective/shard_batch.h"
#include "argosy/ops/random/fill.h"
#include "argosy/ops/random/op_generator.h"
#include "argosy/ops/random/sample.h"

namespace argosy {

Result<ShardDraws> ShardDraws::make(const KernelInit& init) {
  std::shared_ptr<SharedPhilox> generator;
  if (init.attrs.find("seed") != nullptr) {
    ARGOSY_ASSIGN_OR_RETURN(generator, op_generator(init));
  }
  return ShardDraws(init, std::move(generator));
}

ShardDraws::ShardDraws(const KernelInit& init, std::shared_ptr<SharedPhilox> generator)
    : weights_(init.attrs.get<std::vector<std::int64_t>>("weights")),
      index_(init.attrs.get_int("index")),
      rows_(init.attrs.get_int("rows")),
      axis_(init.attrs.get_int("axis")),
      repeats_(init.attrs.get_int("repeats")),
      generator_(std::move(generator)) {}

Result<ShardDraw> ShardDraws::next(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, random_shape(c.input(0)));
  const Tensor& batch = c.input(c.num_inputs() - 1);
  if (batch.shape().rank() == 0) return invalid_argument("a scalar has no rows to shard");
  ARGOSY_ASSIGN_OR_RETURN(const auto shard, shard_batch(batch.shape()[0], weights_, index_));
  const std::int64_t examples = shard.second - shard.first;
  if (axis_ >= shape.rank() || shape[static_cast<int>(axis_)] != checked_mul(examples, rows_) ||
      rows_ % repeats_ != 0) {
    return invalid_argument("random numbers of shape ", shape, " asked for by a shard of ", examples, " examples with ",
                            rows_, " rows each");
  }
  std::optional<std::int64_t> each = rows_;  // elements of an example
  std::int64_t runs = repeats_;
  for (int i = 0; i < shape.rank() && each; ++i) {
    if (i != axis_) each = checked_mul(*each, shape[i]);
    if (i < axis_) runs *= std::max<std::int64_t>(1, shape[i]);
  }
  const auto global = each ? checked_mul(batch.shape()[0], *each) : std::nullopt;
  if (!global) return invalid_argument("too many random numbers for a batch of ", batch.shape()[0], " examples");
  ARGOSY_ASSIGN_OR_RETURN(const Philox from, stream(c, *global));
  return ShardDraw{.shape = shape,
                   .from = from,
                   .runs = runs,
                   .first_of_run = shard.first * (*each / runs),
                   .from_run_to_run = *global / runs};
}

Result<Philox> ShardDraws::stream(KernelContext& c, std::int64_t global) {
  if (generator_) {
    return generator_->reserve_of_batch(static_cast<std::size_t>(index_),
                                        static_cast<std::uint64_t>(global) * kBlocksPerElement);
  }
  const bool keyed = c.num_inputs() == 5;
  return keyed ? keyed_stream(c.input(1), c.input(2), c.input(3)) : seeded_stream(c.input(1));
}

namespace {

template <Distribution kDistribution, bool kPlain>
class RandomShard final : public Kernel {
 public:
  explicit RandomShard(ShardDraws draws) : draws_(std::move(draws)) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    ARGOSY_ASSIGN_OR_RETURN(ShardDraws draws, ShardDraws::make(init));
    return std::unique_ptr<Kernel>(std::make_unique<RandomShard>(std::move(draws)));
  }
  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(const ShardDraw draw, draws_.next(c));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, draw.shape));
    const std::int64_t length = y->elements() / draw.runs;
    const std::size_t bytes = y->bytes() / static_cast<std::size_t>(draw.runs);
    for (std::int64_t k = 0; k < draw.runs && length > 0; ++k) {
      const Tensor run(y->dtype(), Shape{length}, y->buffer().part(static_cast<std::size_t>(k) * bytes, bytes));
      ARGOSY_RETURN_IF_ERROR(
          fill_random(run, kDistribution, draw.from, kPlain, draw.first_of_run + k * draw.from_run_to_run));
    }
    return ok_status();
  }

 private:
  ShardDraws draws_;
};

template <Distribution kDistribution>
void add(KernelRegistry& kernels, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    kernels.add(kShardPrefix + name, "cpu", RandomShard<kDistribution, false>::make);
    kernels.add(kShardPrefix + name, "cpu", RandomShard<kDistribution, true>::make);
  }
}

}  // namespace

void add_random_shards(KernelRegistry& kernels) {
  using enum Distribution;
  add<kUniform>(kernels, {"RandomUniform", "StatelessRandomUniform", "StatelessRandomUniformV2"});
  add<kNormal>(kernels, {"RandomStandardNormal", "StatelessRandomNormal", "StatelessRandomNormalV2"});
  add<kTruncatedNormal>(kernels, {"TruncatedNormal", "StatelessTruncatedNormal", "StatelessTruncatedNormalV2"});
}

}  // namespace argosy
