// Seeds of datasets that draw at random: the numbers are TensorFlow's for TensorFlow's seeds. Internal to the family.
#pragma once

#include "argosy/ops/dataset/dataset_kernel.h"
#include "argosy/ops/random/philox.h"

namespace argosy::datasets {

struct Seeds {
  std::int64_t seed = 0, seed2 = 0;
};

inline Philox philox_of(const Seeds& s) {
  return Philox(static_cast<std::uint64_t>(s.seed), static_cast<std::uint64_t>(s.seed2));
}

// Gives every iterator its seeds: the same ones, or, `anew`, the next two words of the stream of the first.
// Thread-safe.
class SeedGenerator final : public Resource {
 public:
  SeedGenerator(const Seeds& seeds, bool anew) : seeds_(seeds), anew_(anew), words_(philox_of(seeds)) {}
  std::string describe() const override { return "seed generator"; }
  Seeds next() {
    if (!anew_) return seeds_;
    MutexLock lock(mutex_);
    const auto seed = static_cast<std::int64_t>(words_());
    return {seed, static_cast<std::int64_t>(words_())};
  }

 private:
  const Seeds seeds_;
  const bool anew_;
  Mutex mutex_;
  PhiloxWords words_ ARGOSY_GUARDED_BY(mutex_);
};

// The arguments seed and seed2; both 0: left to chance.
inline Result<Seeds> seeds_of(const DatasetArgs& a) {
  Seeds seeds;
  ARGOSY_ASSIGN_OR_RETURN(seeds.seed, a.integer("seed"));
  ARGOSY_ASSIGN_OR_RETURN(seeds.seed2, a.integer("seed2"));
  if (seeds.seed == 0 && seeds.seed2 == 0) {
    RandomSource& chance = system_random_source();
    seeds = {static_cast<std::int64_t>(chance.next()), static_cast<std::int64_t>(chance.next())};
  }
  return seeds;
}

}  // namespace argosy::datasets
