// Kernels: a random box of an image that covers enough of some given box; the numbers TensorFlow draws for the same
// seeds.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>

#include "argosy/ops/attr_kernel.h"
#include "argosy/ops/image/image_registration.h"
#include "argosy/ops/random/op_generator.h"
#include "argosy/ops/random/philox.h"
#include "argosy/ops/random/sample.h"
#include "argosy/tensor/ints.h"

namespace argosy::image {

namespace {

struct Box {
  int left = 0, top = 0, right = 0, bottom = 0;
  float area() const {
    return left >= right || top >= bottom ? 0 : static_cast<float>(right - left) * static_cast<float>(bottom - top);
  }
};
Box shared(const Box& a, const Box& b) {
  return {std::max(a.left, b.left), std::max(a.top, b.top), std::min(a.right, b.right), std::min(a.bottom, b.bottom)};
}

class Random {
 public:
  explicit Random(const Philox& from) : words_(from) {}
  // Uniform in [0, 1).
  float part() { return std::bit_cast<float>((words_() & 0x7fffffu) | (127u << 23)) - 1.0f; }
  // Uniform in [0, n), by rejection sampling.
  int below(int count) {
    const auto n = static_cast<std::uint32_t>(count);
    if ((n & (n - 1)) == 0) return static_cast<int>(words_() & (n - 1));
    const std::uint32_t skip = ~std::uint32_t{0} % n + 1;
    std::uint32_t word = words_();
    while (word < skip) word = words_();
    return static_cast<int>(word % n);
  }

 private:
  PhiloxWords words_;
};

struct Wanted {
  float least_covered, least_ratio, most_ratio, least_area, most_area;
  int attempts;
};

int rounded(float v) { return static_cast<int>(std::lrint(std::clamp(v, -1e9f, 1e9f))); }

// A box of this ratio of width to height, whose size and place are drawn; none where the limits leave none.
std::optional<Box> draw(Random& random, int width, int height, const Wanted& wanted, float ratio) {
  if (!(wanted.most_area > 0) || !(ratio > 0) || wanted.least_area > wanted.most_area) return std::nullopt;
  const float whole = static_cast<float>(width), tall = static_cast<float>(height);
  const float least = wanted.least_area * whole * tall, most = wanted.most_area * whole * tall;
  int high = rounded(std::sqrt(least / ratio)), highest = rounded(std::sqrt(most / ratio));
  const auto wide = [&](int h) { return rounded(static_cast<float>(h) * ratio); };
  if (wide(highest) > width) {
    highest = static_cast<int>((whole + 0.5f - 0.0000001f) / ratio);
    if (wide(highest) > width) --highest;
  }
  highest = std::min(highest, height);
  high = std::min(high, highest);
  if (high < highest) high += random.below(highest - high + 1);
  const auto area = [&](int h) { return static_cast<float>(wide(h)) * static_cast<float>(h); };
  if (area(high) < least) ++high;
  if (area(high) > most) --high;
  const int across = wide(high);
  if (area(high) < least || area(high) > most || across > width || high > height || across <= 0 || high <= 0) {
    return std::nullopt;
  }
  const int y = high < height ? random.below(height - high) : 0;
  const int x = across < width ? random.below(width - across) : 0;
  return Box{x, y, x + across, y + high};
}

bool covers(const Box& crop, const std::vector<Box>& boxes, float least) {
  if (crop.area() < 1) return false;
  return std::any_of(boxes.begin(), boxes.end(),
                     [&](const Box& box) { return box.area() >= 1 && shared(crop, box).area() / box.area() >= least; });
}

Status sample(KernelContext& c, Wanted wanted, bool whole_if_none, const Philox& stream) {
  if (c.input(0).shape() != Shape{3})
    return invalid_argument("image_size must have 3 elements, not shape ", c.input(0).shape());
  Ints size;
  const Tensor& given = c.input(0);
  ARGOSY_RETURN_IF_ERROR(dispatch<RealTypes>(given.dtype(), "image_size", [&]<typename T>() {
    for (const T v : given.values<T>()) size.push_back(static_cast<std::int64_t>(static_cast<double>(v)));
    return ok_status();
  }));
  constexpr std::int64_t kMost = 1 << 24;
  if (size[0] <= 0 || size[1] <= 0 || size[0] > kMost || size[1] > kMost) {
    return invalid_argument("image height and width must be positive and at most 2^24, not ", size);
  }
  const int height = static_cast<int>(size[0]), width = static_cast<int>(size[1]);
  const Tensor& boxes = c.input(1);
  if (boxes.shape().rank() != 3 || boxes.shape()[2] != 4) {
    return invalid_argument("bounding_boxes are [batch, n, 4], not of shape ", boxes.shape());
  }
  std::vector<Box> objects;
  for (std::int64_t i = 0; i < boxes.elements() / 4; ++i) {
    const float* const b = boxes.data<float>() + 4 * i;
    for (int k = 0; k < 4; ++k) {
      if (!(b[k] >= 0 && b[k] <= 1))
        return invalid_argument("All bounding box coordinates must be in [0.0, 1.0]: ", b[k]);
    }
    const auto pixel = [](float part, int whole) { return static_cast<int>(part * static_cast<float>(whole)); };
    objects.push_back({pixel(b[1], width), pixel(b[0], height), pixel(b[3], width), pixel(b[2], height)});
  }
  const Box all{0, 0, width, height};
  if (objects.empty()) {
    if (!whole_if_none) {
      return invalid_argument("No bounding boxes provided as input. One must enable use_image_if_no_bounding_boxes if ",
                              "you wish to not provide any bounding boxes.");
    }
    objects.push_back(all);
  }
  Random random(stream);
  Box crop = all;
  for (int i = 0; i < wanted.attempts; ++i) {
    const float ratio = random.part() * (wanted.most_ratio - wanted.least_ratio) + wanted.least_ratio;
    const auto drawn = draw(random, width, height, wanted, ratio);
    if (!drawn || !covers(*drawn, objects, wanted.least_covered)) continue;
    crop = *drawn;
    break;
  }
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const begin, c.output(0, {3}));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const extent, c.output(1, {3}));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const box, c.output(2, {1, 1, 4}));
  const float tall = static_cast<float>(height), wide = static_cast<float>(width);
  float* const to = box->data<float>();
  to[0] = static_cast<float>(crop.top) / tall;
  to[1] = static_cast<float>(crop.left) / wide;
  to[2] = static_cast<float>(crop.bottom) / tall;
  to[3] = static_cast<float>(crop.right) / wide;
  return dispatch<IntegerTypes>(begin->dtype(), "SampleDistortedBoundingBox", [&]<typename T>() {
    const int at[3] = {crop.top, crop.left, 0}, of[3] = {crop.bottom - crop.top, crop.right - crop.left, -1};
    for (int k = 0; k < 3; ++k) {
      begin->data<T>()[k] = static_cast<T>(at[k]);
      extent->data<T>()[k] = static_cast<T>(of[k]);
    }
    return ok_status();
  });
}

Result<Wanted> read_wanted(const AttrMap& attrs) {
  const auto pair = [&](const char* name, float most) -> Result<std::pair<float, float>> {
    const auto& v = attrs.get<std::vector<float>>(name);
    if (v.size() != 2) return invalid_argument(name, " must be [low, high], not of ", v.size(), " numbers");
    if (!(v[0] > 0) || !(v[1] > 0) || !(v[0] <= most) || !(v[1] <= most)) {
      return invalid_argument(name, " must be positive", most < 2 ? " and at most 1" : "", ", not ", v[0], " to ",
                              v[1]);
    }
    return std::pair(v[0], v[1]);
  };
  ARGOSY_ASSIGN_OR_RETURN(const auto ratios, pair("aspect_ratio_range", std::numeric_limits<float>::infinity()));
  ARGOSY_ASSIGN_OR_RETURN(const auto areas, pair("area_range", 1.0f));
  const std::int64_t attempts = attrs.get_int("max_attempts");
  if (attempts <= 0 || attempts > (1 << 20))
    return invalid_argument("max_attempts must be positive and at most 2^20, not ", attempts);
  const float covered = attrs.get_or<float>("min_object_covered", 0);
  return Wanted{covered, ratios.first, ratios.second, areas.first, areas.second, static_cast<int>(attempts)};
}

Status read_covered(const KernelContext& c, Wanted& wanted) {
  if (c.num_inputs() > 2) {
    if (c.input(2).shape().rank() != 0)
      return invalid_argument("min_object_covered must be a scalar, not of shape ", c.input(2).shape());
    wanted.least_covered = *c.input(2).data<float>();
  }
  if (wanted.least_covered >= 0) return ok_status();
  return invalid_argument("Min object covered must be non-negative, not ", wanted.least_covered);
}

class Sample final : public Kernel {
 public:
  Sample(const KernelInit& init, std::shared_ptr<SharedPhilox> stream)
      : attrs_(init.attrs), stream_(std::move(stream)) {}
  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(Wanted wanted, read_wanted(attrs_));
    ARGOSY_RETURN_IF_ERROR(read_covered(c, wanted));
    const auto blocks = static_cast<std::uint64_t>(wanted.attempts);  // four words an attempt
    return sample(c, wanted, attrs_.get_bool("use_image_if_no_bounding_boxes"), stream_->reserve(blocks));
  }

 private:
  const AttrMap attrs_;
  const std::shared_ptr<SharedPhilox> stream_;
};

Status sample_stateless(KernelContext& c, const AttrMap& attrs) {
  ARGOSY_ASSIGN_OR_RETURN(Wanted wanted, read_wanted(attrs));
  ARGOSY_RETURN_IF_ERROR(read_covered(c, wanted));
  ARGOSY_ASSIGN_OR_RETURN(const Philox stream, seeded_stream(c.input(3)));
  return sample(c, wanted, attrs.get_bool("use_image_if_no_bounding_boxes"), stream);
}

}  // namespace

void add_kernels_cpu_sampling(KernelRegistry& kernels) {
  kernels.add("SampleDistortedBoundingBox", "cpu", make_with_generator<Sample>);
  kernels.add("SampleDistortedBoundingBoxV2", "cpu", make_with_generator<Sample>);
  kernels.add("StatelessSampleDistortedBoundingBox", "cpu", AttrKernel<sample_stateless>::make);
}

}  // namespace argosy::image
