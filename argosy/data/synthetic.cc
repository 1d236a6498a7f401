#include "argosy/data/synthetic.h"

#include <algorithm>
#include <cmath>

#include "argosy/data/random_bits.h"

namespace argosy::data {

namespace {

constexpr int kKinds = 10;

// One image: the fraction of the foreground colour at each point of [-1, 1] x [-1, 1].
struct Drawing {
  int kind;
  float x, y, size, phase;
  float across, down;  // a direction, of length 1
  float edge;          // half the width of a pixel, for smooth borders

  float inside(float distance) const { return std::clamp(0.5f - distance / edge * 0.5f, 0.0f, 1.0f); }

  float at(float u, float v) const {
    const float dx = u - x;
    const float dy = v - y;
    const float ax = std::abs(dx);
    const float ay = std::abs(dy);
    const float frequency = 6.0f + 6.0f * size;
    switch (kind) {
      case 0: return inside(std::sqrt(dx * dx + dy * dy) - size);                                  // disc
      case 1: return inside(std::max(ax, ay) - size * 0.85f);                                      // square
      case 2: return inside(std::max(ax * 0.866f + dy * 0.5f, -dy) - size * 0.6f);                 // triangle
      case 3: return inside(std::abs(std::sqrt(dx * dx + dy * dy) - size * 0.8f) - size * 0.25f);  // ring
      case 4: return inside(std::max(std::min(ax, ay) - size * 0.3f, std::max(ax, ay) - size));    // cross
      case 5: return wave(v * frequency + phase);                                                  // stripes
      case 6: return wave(u * frequency + phase);
      case 7: return wave(u * frequency + phase) * 0.5f + wave(v * frequency - phase) * 0.5f;  // checker
      case 8: return std::clamp(std::sqrt(dx * dx + dy * dy) * 0.6f / size, 0.0f, 1.0f);       // radial
      default: return std::clamp(0.5f + 0.5f * (u * across + v * down), 0.0f, 1.0f);           // linear
    }
  }

  // A smoothed triangle wave in 0 … 1; cheaper than a sine and the same on every machine.
  static float wave(float t) {
    const float part = t * 0.25f - std::floor(t * 0.25f);
    const float triangle = std::abs(2.0f * part - 1.0f);
    return triangle * triangle * (3.0f - 2.0f * triangle);
  }
};

class Synthetic final : public Dataset {
 public:
  explicit Synthetic(const DatasetOptions& options)
      : options_(options),
        seed_(options.split == "train" ? options.seed : ~options.seed),
        components_{{"image", DType::kFloat32, {options.image_size, options.image_size, options.channels}},
                    {"label", DType::kInt32, {}}} {}

  std::int64_t size() const override { return options_.examples; }
  std::span<const Component> components() const override { return components_; }
  int classes() const override { return options_.classes; }
  std::string describe() const override {
    return str_cat("synthetic ", options_.split, ", ", options_.examples, " images of ", options_.image_size, "x",
                   options_.image_size, "x", options_.channels, ", seed ", options_.seed);
  }

 protected:
  Status fill(std::span<const std::int64_t> indices, std::span<const Tensor> to) const override {
    float* pixel = to[0].data<float>();
    for (std::size_t i = 0; i < indices.size(); ++i) {
      to[1].data<std::int32_t>()[i] = draw(indices[i], pixel);
      pixel += components_[0].shape.elements();
    }
    return ok_status();
  }

 private:
  std::int32_t draw(std::int64_t index, float* pixel) const {
    RandomBits random(seed_, static_cast<std::uint64_t>(index));
    const auto label = static_cast<std::int32_t>(random.next() % static_cast<std::uint64_t>(options_.classes));
    const int n = options_.image_size;
    Drawing d;
    d.kind = label % kKinds;
    d.x = random.uniform(-0.35f, 0.35f);
    d.y = random.uniform(-0.35f, 0.35f);
    d.size = random.uniform(0.35f, 0.65f);
    d.phase = random.uniform(0.0f, 6.28f);
    d.across = random.uniform(-1.0f, 1.0f);
    d.down = random.uniform(0.1f, 1.0f);
    const float length = std::sqrt(d.across * d.across + d.down * d.down);
    d.across /= length;
    d.down /= length;
    d.edge = 2.0f / static_cast<float>(n);
    // Beyond ten classes the same kinds come back with another dominant channel.
    const int tint = label / kKinds;
    float back[3], front[3];
    for (int c = 0; c < 3; ++c) {
      back[c] = random.uniform(0.0f, 0.4f);
      front[c] = random.uniform(0.6f, 1.0f);
      if (tint > 0 && c == tint % 3) front[c] = 0.2f;
    }
    for (int row = 0; row < n; ++row) {
      const float v = (2.0f * static_cast<float>(row) + 1.0f) / static_cast<float>(n) - 1.0f;
      for (int column = 0; column < n; ++column) {
        const float u = (2.0f * static_cast<float>(column) + 1.0f) / static_cast<float>(n) - 1.0f;
        const float share = d.at(u, v);
        for (int c = 0; c < options_.channels; ++c) *pixel++ = back[c] + (front[c] - back[c]) * share;
      }
    }
    return label;
  }

  DatasetOptions options_;
  std::uint64_t seed_;
  std::vector<Component> components_;
};

}  // namespace

Result<std::unique_ptr<Dataset>> open_synthetic(const DatasetOptions& options) {
  if (options.image_size < 1 || options.image_size > 16384 || (options.channels != 1 && options.channels != 3) ||
      options.examples < 1 || options.classes < 1 || options.classes > 3 * kKinds) {
    return invalid_argument("synthetic data of ", options.examples, " images, ", options.image_size, " pixels wide, ",
                            options.channels, " channels, ", options.classes,
                            " classes; sizes are 1 … 16384, channels 1 or 3, classes 1 … ", 3 * kKinds)
        .with_id("ARG-DATA-002");
  }
  return std::unique_ptr<Dataset>(std::make_unique<Synthetic>(options));
}

}  // namespace argosy::data
