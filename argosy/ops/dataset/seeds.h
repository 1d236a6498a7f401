// Seeds of datasets with random numbers. With equal seeds, the numbers are TensorFlow's. Internal to the family.
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

// One draw of a generator with the seeds `first`: it returned `given`, after `before` earlier draws.
struct SeedDraw {
  Seeds first, given;
  std::int64_t before = 0;
};

// Gives each iterator its seeds. They are always the same, or with `anew` the next two words of the stream of the first
// seeds. Thread-safe.
class SeedGenerator final : public Resource {
 public:
  SeedGenerator(const Seeds& seeds, bool anew) : anew_(anew), first_(seeds), seeds_(seeds), words_(philox_of(seeds)) {}
  std::string describe() const override { return "seed generator"; }
  bool anew() const { return anew_; }
  const Seeds& first() const { return first_; }
  SeedDraw next() {
    MutexLock lock(mutex_);
    if (!anew_) return {seeds_, seeds_, given_++};
    const auto seed = static_cast<std::int64_t>(words_());
    return {seeds_, {seed, static_cast<std::int64_t>(words_())}, given_++};
  }
  // Sets the generator to its state after this draw.
  void go_on_after(const SeedDraw& draw) {
    MutexLock lock(mutex_);
    seeds_ = draw.first;
    given_ = draw.before + 1;
    Philox stream = philox_of(seeds_);
    stream.skip(static_cast<std::uint64_t>(given_) / 2);  // four words a block, two a draw
    words_ = PhiloxWords(stream);
    for (std::int64_t i = 0; i < given_ % 2 * 2; ++i) (void)words_();
  }

 private:
  const bool anew_;
  const Seeds first_;
  Mutex mutex_;
  Seeds seeds_ ARGOSY_GUARDED_BY(mutex_);
  PhiloxWords words_ ARGOSY_GUARDED_BY(mutex_);
  std::int64_t given_ ARGOSY_GUARDED_BY(mutex_) = 0;
};

// Records the seeds of one pipeline's iterators, in order, so that another pipeline can replay them. Thread-safe.
class SeedLog {
 public:
  static constexpr std::size_t kMost = std::size_t{1} << 18;
  SeedLog() = default;
  // Replays `draws` first.
  explicit SeedLog(std::vector<SeedDraw> draws) : draws_(std::move(draws)) {}

  Seeds next(SeedGenerator& from) {
    MutexLock lock(mutex_);
    if (next_ < draws_.size()) {
      const SeedDraw& draw = draws_[next_++];
      from.go_on_after(draw);
      return draw.given;
    }
    const SeedDraw draw = from.next();
    if (draws_.size() < kMost) {
      draws_.push_back(draw);
      next_ = draws_.size();
    } else {
      full_ = true;
    }
    return draw.given;
  }
  // Returns the draws so far. FAILED_PRECONDITION if there were more than kMost.
  Result<std::vector<SeedDraw>> draws() const {
    MutexLock lock(mutex_);
    if (full_) return failed_precondition("a pipeline that shuffled more than ", kMost, " times cannot be saved");
    return draws_;
  }

 private:
  mutable Mutex mutex_;
  std::vector<SeedDraw> draws_ ARGOSY_GUARDED_BY(mutex_);
  std::size_t next_ ARGOSY_GUARDED_BY(mutex_) = 0;
  bool full_ ARGOSY_GUARDED_BY(mutex_) = false;
};

// Draws the seeds of a new iterator, by the pipeline's log if it has one.
inline Seeds next_seeds(SeedGenerator& from, const IteratorContext& context) {
  return context.seeds != nullptr ? context.seeds->next(from) : from.next().given;
}

// Reads the arguments seed and seed2. If both are 0, draws seeds from the system's random source.
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
