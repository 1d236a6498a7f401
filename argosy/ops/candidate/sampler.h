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

// Thread-safe. `learn` changes what comes after it.
class Sampler {
 public:
  virtual ~Sampler() = default;
  // Draws sampled.size() classes, all different when `unique`, and says how often each of them and of `trues` was to
  // be expected. REQUIRES: where `unique`, as many classes with a probability above 0.
  virtual void draw(RandomNumbers& numbers, bool unique, std::span<std::int64_t> sampled,
                    std::span<float> sampled_expected, std::span<const std::int64_t> trues,
                    std::span<float> true_expected);
  virtual Status learn(std::span<const std::int64_t>) { return ok_status(); }
  // What has been learned: not valid() where nothing is; and what puts it back, while the sampler lives.
  virtual Tensor learned() const { return {}; }
  virtual std::function<void()> set_aside() {
    return [] {};
  }

 protected:
  virtual std::int64_t one(RandomNumbers& numbers) = 0;
  virtual float probability(std::int64_t value) const = 0;
};

std::unique_ptr<Sampler> make_all();
std::unique_ptr<Sampler> make_uniform(std::int64_t range);
std::unique_ptr<Sampler> make_log_uniform(std::int64_t range);
// INVALID_ARGUMENT for a range that weights in memory cannot have.
Result<std::unique_ptr<Sampler>> make_learned(std::int64_t range);

struct FixedWeights {
  std::int64_t range = 0;
  float distortion = 1;                // weights are raised to this power
  std::int64_t reserved = 0;           // classes of weight 0 at the front
  std::int64_t shards = 1, shard = 0;  // every shards-th class, from this one on
  std::vector<float> weights;
};
// INVALID_ARGUMENT when no weight is above zero, or there is not one for each class.
Result<std::unique_ptr<Sampler>> make_fixed(FixedWeights weights);
// The last column of every line of comma-separated values.
Result<std::vector<float>> read_weights(const std::string& path);

}  // namespace argosy::candidate
