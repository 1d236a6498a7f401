// Classes by fixed weights, in constant time a draw: Walker's alias method. Each of n buckets of width 1/n belongs to
// one class up to a threshold and to another one above it.
#include <charconv>
#include <cmath>

#include "argosy/base/str.h"
#include "argosy/base/system/confined_path.h"
#include "argosy/base/system/file.h"
#include "argosy/ops/candidate/sampler.h"

namespace argosy::candidate {

namespace {

class Fixed final : public Sampler {
 public:
  Fixed(std::vector<float> weights, float total) : weights_(std::move(weights)), total_(total) {
    const std::size_t n = weights_.size();
    double sum = 0;
    for (const float w : weights_) sum += w;
    std::vector<double> shares(n);
    std::vector<std::size_t> rich, poor;  // buckets with too much and too little, the last one first
    for (std::size_t i = 0; i < n; ++i) {
      shares[i] = static_cast<double>(weights_[i]) * static_cast<double>(n) / sum;
      (shares[i] < 1.0 ? poor : rich).push_back(i);
    }
    buckets_.resize(n);
    while (!rich.empty() && !poor.empty()) {
      const std::size_t from = rich.back(), to = poor.back();
      rich.pop_back();
      poor.pop_back();
      buckets_[to].other = static_cast<std::int64_t>(from);
      shares[from] -= 1.0 - shares[to];
      (shares[from] < 1.0 ? poor : rich).push_back(from);
    }
    for (std::size_t i = 0; i < n; ++i) buckets_[i].threshold = static_cast<float>(shares[i]);
    // The rest have probability 1, but for rounding.
    for (const auto* rest : {&rich, &poor}) {
      for (const std::size_t i : *rest) buckets_[i] = {1.0f, static_cast<std::int64_t>(i)};
    }
  }

 protected:
  std::int64_t one(RandomNumbers& numbers) override {
    const float r = numbers.unit_float();
    const std::uint32_t i = numbers.below_narrow(static_cast<std::uint32_t>(buckets_.size()));
    return r < buckets_[i].threshold ? static_cast<std::int64_t>(i) : buckets_[i].other;
  }
  float probability(std::int64_t value) const override {
    if (value < 0 || value >= static_cast<std::int64_t>(weights_.size())) return 0;
    return weights_[static_cast<std::size_t>(value)] / total_;
  }

 private:
  struct Bucket {
    float threshold = 0;
    std::int64_t other = 0;
  };
  std::vector<float> weights_;
  float total_;
  std::vector<Bucket> buckets_;
};

}  // namespace

Result<std::unique_ptr<Sampler>> make_fixed(FixedWeights given) {
  if (given.shard >= given.shards) {
    return invalid_argument("shard ", given.shard, " of ", given.shards, " does not exist: count from 0");
  }
  if (given.reserved < 0 || given.reserved > given.range) {
    return invalid_argument("num_reserved_ids is ", given.reserved, ", range_max ", given.range);
  }
  std::vector<float> weights;
  const auto mine = [&](std::int64_t id) { return id % given.shards == given.shard; };
  for (std::int64_t id = 0; id < given.reserved; ++id) {
    if (mine(id)) weights.push_back(0);
  }
  float total = 0;
  auto id = static_cast<std::int64_t>(weights.size());
  for (const float weight : given.weights) {
    if (!mine(id++)) continue;
    weights.push_back(std::pow(weight, given.distortion));
    total += weights.back();
  }
  if (static_cast<std::int64_t>(weights.size()) != given.range) {
    return invalid_argument("there are ", weights.size(), " weights for range_max = ", given.range,
                            " classes: there must be one for each");
  }
  for (const float weight : weights) {
    if (!(weight >= 0) || std::isinf(weight)) return invalid_argument("a class cannot have the weight ", weight);
  }
  if (!(total > 0) || std::isinf(total)) return invalid_argument("the classes' weights add up to ", total);
  return std::unique_ptr<Sampler>(std::make_unique<Fixed>(std::move(weights), total));
}

Result<std::vector<float>> read_weights(const std::string& path) {
  constexpr std::int64_t kMostBytes = std::int64_t{1} << 30;
  ARGOSY_ASSIGN_OR_RETURN(const std::string text, read_file(path, kMostBytes));
  std::vector<float> weights;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    std::string_view last = line.substr(line.rfind(',') + 1);  // npos + 1 is 0
    while (!last.empty() && (last.front() == ' ' || last.front() == '\t')) last.remove_prefix(1);
    while (!last.empty() && (last.back() == ' ' || last.back() == '\r')) last.remove_suffix(1);
    float weight = 0;
    const auto [stop, error] = std::from_chars(last.data(), last.data() + last.size(), weight);
    if (error != std::errc() || stop != last.data() + last.size()) {
      return invalid_argument("Wrong vocabulary format at line: ", line, " of ", plain_path(path),
                              ": its last column must be a number");
    }
    weights.push_back(weight);
  }
  return weights;
}

}  // namespace argosy::candidate
