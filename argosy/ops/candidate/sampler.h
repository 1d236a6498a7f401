// Distributions over classes [0, range) that candidate samplers draw from.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "argosy/base/mutex.h"
#include "argosy/base/status.h"
#include "argosy/ops/random/random_numbers.h"
#include "argosy/tensor/tensor.h"

namespace argosy::candidate {

// Thread-safe. learn() changes the distribution of later draws.
class Sampler {
 public:
  virtual ~Sampler() = default;
  // Draws sampled.size() classes, all different if `unique`. Writes the expected counts of these and of `trues`.
  // REQUIRES: if `unique`, at least as many classes have a probability above 0.
  virtual void draw(RandomNumbers& numbers, bool unique, std::span<std::int64_t> sampled,
                    std::span<float> sampled_expected, std::span<const std::int64_t> trues,
                    std::span<float> true_expected);
  virtual Status learn(std::span<const std::int64_t>) { return ok_status(); }
  // learned(): the learned counts; not valid() if the sampler does not learn. snapshot(): a function that restores the
  // counts of this moment, to be called while the sampler lives.
  virtual Tensor learned() const { return {}; }
  virtual std::function<void()> snapshot() {
    return [] {};
  }

 protected:
  virtual std::int64_t one(RandomNumbers& numbers) = 0;
  virtual float probability(std::int64_t value) const = 0;
};

std::unique_ptr<Sampler> make_all();
std::unique_ptr<Sampler> make_uniform(std::int64_t range);
std::unique_ptr<Sampler> make_log_uniform(std::int64_t range);
// A sampler with a count of each class in memory. INVALID_ARGUMENT if `range` is above 2^28.
Result<std::unique_ptr<Sampler>> make_learned(std::int64_t range);

struct FixedWeights {
  std::int64_t range = 0;
  float distortion = 1;                // weights are raised to this power
  std::int64_t reserved = 0;           // classes of weight 0 at the front
  std::int64_t shards = 1, shard = 0;  // only classes with id % shards == shard
  std::vector<float> weights;
};
// INVALID_ARGUMENT unless there is one weight for each class, and one of them is above zero.
Result<std::unique_ptr<Sampler>> make_fixed(FixedWeights weights);
// Returns the last column of a file of comma-separated values.
Result<std::vector<float>> read_weights(const std::string& path);

}  // namespace argosy::candidate
