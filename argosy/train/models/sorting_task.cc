#include "argosy/train/models/sorting_task.h"

#include <algorithm>

namespace argosy::models {

namespace {

class SortingTask final : public data::Dataset {
 public:
  SortingTask(int length, int vocabulary, std::int64_t examples, std::uint64_t seed)
      : length_(length),
        vocabulary_(vocabulary),
        examples_(examples),
        seed_(seed),
        components_{{"tokens", DType::kInt32, {length}}, {"sorted", DType::kInt32, {length}}} {}

  std::int64_t size() const override { return examples_; }
  std::span<const data::Component> components() const override { return components_; }
  std::string describe() const override {
    return str_cat("sorting task, ", examples_, " sequences of ", length_, " tokens below ", vocabulary_);
  }

 protected:
  Status fill(std::span<const std::int64_t> indices, std::span<const Tensor> to) const override {
    for (std::size_t row = 0; row < indices.size(); ++row) {
      std::int32_t* const tokens = to[0].data<std::int32_t>() + static_cast<std::int64_t>(row) * length_;
      std::int32_t* const sorted = to[1].data<std::int32_t>() + static_cast<std::int64_t>(row) * length_;
      // One step of a splitmix generator a token, from a state that example and seed alone decide.
      std::uint64_t state =
          seed_ * 0x9E3779B97F4A7C15u + static_cast<std::uint64_t>(indices[row]) * 0xD1B54A32D192ED03u;
      for (int i = 0; i < length_; ++i) {
        state += 0x9E3779B97F4A7C15u;
        std::uint64_t z = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9u;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
        tokens[i] = static_cast<std::int32_t>((z >> 33) % static_cast<std::uint64_t>(vocabulary_));
      }
      std::copy(tokens, tokens + length_, sorted);
      std::sort(sorted, sorted + length_);
    }
    return ok_status();
  }

 private:
  const int length_, vocabulary_;
  const std::int64_t examples_;
  const std::uint64_t seed_;
  const std::vector<data::Component> components_;
};

}  // namespace

Result<std::unique_ptr<data::Dataset>> sorting_task(int length, int vocabulary, std::int64_t examples,
                                                    std::uint64_t seed) {
  if (length < 1 || vocabulary < 2 || examples < 1) {
    return invalid_argument("sorting task: ", examples, " sequences of ", length, " tokens below ", vocabulary);
  }
  return std::unique_ptr<data::Dataset>(std::make_unique<SortingTask>(length, vocabulary, examples, seed));
}

}  // namespace argosy::models
