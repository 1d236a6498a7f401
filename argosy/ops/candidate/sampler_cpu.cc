#include "argosy/base/threads/interrupt.h"
#include "argosy/ops/candidate/sampler.h"

#include <cmath>
#include <limits>
#include <unordered_set>

namespace argosy::candidate {

void Sampler::draw(RandomNumbers& numbers, bool unique, std::span<std::int64_t> sampled,
                   std::span<float> sampled_expected, std::span<const std::int64_t> trues,
                   std::span<float> true_expected) {
  const auto wanted = static_cast<std::int64_t>(sampled.size());
  std::int64_t tries = 0;
  std::unordered_set<std::int64_t> seen;
  Poll poll(1024);  // a class that is left may be too unlikely ever to come
  for (std::int64_t& value : sampled) {
    do {
      poll();
      value = one(numbers);
      ++tries;
    } while (unique && !seen.insert(value).second);
  }
  // The expected count. If `unique`: the probability of being drawn in that many tries, 1 - (1 - p)^tries. Else the
  // mean count.
  const auto expected = [&](std::int64_t value) {
    const float p = probability(value);
    if (tries == wanted) return p * static_cast<float>(wanted);
    return static_cast<float>(-std::expm1(static_cast<double>(tries) * std::log1p(-static_cast<double>(p))));
  };
  for (std::size_t i = 0; i < sampled.size(); ++i) sampled_expected[i] = expected(sampled[i]);
  for (std::size_t i = 0; i < trues.size(); ++i) true_expected[i] = expected(trues[i]);
}

namespace {

class All final : public Sampler {
 public:
  void draw(RandomNumbers&, bool, std::span<std::int64_t> sampled, std::span<float> sampled_expected,
            std::span<const std::int64_t>, std::span<float> true_expected) override {
    for (std::size_t i = 0; i < sampled.size(); ++i) sampled[i] = static_cast<std::int64_t>(i);
    std::fill(sampled_expected.begin(), sampled_expected.end(), 1.0f);
    std::fill(true_expected.begin(), true_expected.end(), 1.0f);
  }

 protected:
  std::int64_t one(RandomNumbers&) override { return 0; }
  float probability(std::int64_t) const override { return 1; }
};

class Uniform final : public Sampler {
 public:
  explicit Uniform(std::int64_t range) : range_(range) {}

 protected:
  std::int64_t one(RandomNumbers& numbers) override {
    return static_cast<std::int64_t>(numbers.below(static_cast<std::uint64_t>(range_)));
  }
  float probability(std::int64_t) const override { return static_cast<float>(1.0 / static_cast<double>(range_)); }

 private:
  const std::int64_t range_;
};

class LogUniform final : public Sampler {
 public:
  explicit LogUniform(std::int64_t range) : range_(range), log_range_(std::log1p(static_cast<double>(range))) {}

 protected:
  std::int64_t one(RandomNumbers& numbers) override {
    const auto value = static_cast<std::int64_t>(std::exp(numbers.unit_double() * log_range_)) - 1;
    return value % range_;  // rounding may reach the range itself
  }
  float probability(std::int64_t value) const override {
    const auto k = static_cast<double>(value);
    return static_cast<float>(std::log((k + 2.0) / (k + 1.0)) / log_range_);
  }

 private:
  const std::int64_t range_;
  const double log_range_;
};

// Counts of all classes, from 1 on, under a tree of their sums.
class Learned final : public Sampler {
 public:
  explicit Learned(std::int64_t range)
      : range_(range), leaves_(std::bit_ceil(static_cast<std::size_t>(range))), sums_(2 * leaves_, 0) {
    for (std::int64_t i = 0; i < range; ++i) sums_[leaves_ + static_cast<std::size_t>(i)] = 1;
    for (std::size_t i = leaves_ - 1; i > 0; --i) sums_[i] = sums_[2 * i] + sums_[2 * i + 1];
  }
  void draw(RandomNumbers& numbers, bool unique, std::span<std::int64_t> sampled, std::span<float> sampled_expected,
            std::span<const std::int64_t> trues, std::span<float> true_expected) override ARGOSY_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    Sampler::draw(numbers, unique, sampled, sampled_expected, trues, true_expected);
  }
  Status learn(std::span<const std::int64_t> values) override ARGOSY_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    for (const std::int64_t value : values) {
      if (value < 0 || value >= range_) continue;
      if (sums_[1] == std::numeric_limits<std::int32_t>::max()) {
        return resource_exhausted("a learned sampler has counted 2^31 - 1 classes and can count no more");
      }
      for (std::size_t i = leaves_ + static_cast<std::size_t>(value); i > 0; i /= 2) ++sums_[i];
    }
    return ok_status();
  }
  Tensor learned() const override ARGOSY_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return Tensor::vector(
        std::vector<std::uint32_t>(sums_.begin() + static_cast<std::ptrdiff_t>(leaves_), sums_.end()));
  }
  std::function<void()> snapshot() override ARGOSY_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return [this, sums = sums_] {
      MutexLock again(mutex_);
      sums_ = sums;
    };
  }

 protected:
  std::int64_t one(RandomNumbers& numbers) override ARGOSY_REQUIRES(mutex_) {
    std::uint32_t rest = numbers.below_narrow(sums_[1]);
    std::size_t i = 1;
    while (i < leaves_) {
      i *= 2;
      if (rest >= sums_[i]) rest -= sums_[i++];
    }
    return static_cast<std::int64_t>(i - leaves_);
  }
  float probability(std::int64_t value) const override ARGOSY_REQUIRES(mutex_) {
    if (value < 0 || value >= range_) return 0;
    return static_cast<float>(sums_[leaves_ + static_cast<std::size_t>(value)]) / static_cast<float>(sums_[1]);
  }

 private:
  const std::int64_t range_;
  const std::size_t leaves_;
  mutable Mutex mutex_;
  std::vector<std::uint32_t> sums_ ARGOSY_GUARDED_BY(mutex_);  // node i over 2 i and 2 i + 1; the root is 1
};

}  // namespace

std::unique_ptr<Sampler> make_all() { return std::make_unique<All>(); }
std::unique_ptr<Sampler> make_uniform(std::int64_t range) { return std::make_unique<Uniform>(range); }
std::unique_ptr<Sampler> make_log_uniform(std::int64_t range) { return std::make_unique<LogUniform>(range); }
Result<std::unique_ptr<Sampler>> make_learned(std::int64_t range) {
  constexpr std::int64_t kMost = std::int64_t{1} << 28;  // two gigabytes of counts
  if (range > kMost) {
    return invalid_argument("a learned sampler counts every class: range_max ", range, " is above ", kMost);
  }
  return std::unique_ptr<Sampler>(std::make_unique<Learned>(range));
}

}  // namespace argosy::candidate
