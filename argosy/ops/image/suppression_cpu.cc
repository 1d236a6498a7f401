// Kernels of NonMaxSuppression: the best boxes that overlap little. Soft suppression: Bodla et al., "Soft-NMS" (2017).
#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>

#include "argosy/base/threads/interrupt.h"
#include "argosy/ops/attr_kernel.h"
#include "argosy/ops/image/image_registration.h"

namespace argosy::image {

namespace {

// The intersection over union of two boxes, each given by opposite corners.
float overlap(const float* a, const float* b) {
  struct Box {
    explicit Box(const float* c)
        : y1(std::min(c[0], c[2])), x1(std::min(c[1], c[3])), y2(std::max(c[0], c[2])), x2(std::max(c[1], c[3])) {}
    float area() const { return (y2 - y1) * (x2 - x1); }
    float y1, x1, y2, x2;
  };
  const Box p(a), q(b);
  const float area_p = p.area(), area_q = q.area();
  if (area_p <= 0 || area_q <= 0) return 0;
  const float height = std::max(std::min(p.y2, q.y2) - std::max(p.y1, q.y1), 0.0f);
  const float width = std::max(std::min(p.x2, q.x2) - std::max(p.x1, q.x1), 0.0f);
  const float shared = height * width;
  return shared / (area_p + area_q - shared);
}

struct Candidate {
  std::int32_t box;
  float score;
  std::size_t compared = 0;  // with so many of those chosen before
  bool operator<(const Candidate& other) const {
    return score < other.score || (score == other.score && box > other.box);
  }
};

struct Chosen {
  std::vector<std::int32_t> boxes;
  std::vector<float> scores;
};

struct Limits {
  std::int64_t most;
  float overlap;
  float score = -std::numeric_limits<float>::infinity();
  float sigma = 0;  // above 0: overlapping boxes count for less instead
};

template <typename Overlap>
Chosen choose(std::span<const float> scores, const Limits& limits, Overlap&& similarity) {
  std::priority_queue<Candidate> queue;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (scores[i] > limits.score) queue.push({static_cast<std::int32_t>(i), scores[i]});
  }
  const bool soft = limits.sigma > 0;
  const float scale = soft ? -0.5f / limits.sigma : 0;
  Chosen chosen;
  while (static_cast<std::int64_t>(chosen.boxes.size()) < limits.most && !queue.empty()) {
    check_interrupted();
    Candidate next = queue.top();
    queue.pop();
    const float before = next.score;
    bool gone = false;
    for (std::size_t j = chosen.boxes.size(); j-- > next.compared;) {
      const float shared = similarity(next.box, chosen.boxes[j]);
      if (!soft) {
        gone = shared > limits.overlap;
        if (gone) break;
        continue;
      }
      next.score *= std::exp(scale * shared * shared);
      if (next.score <= limits.score) break;
    }
    next.compared = chosen.boxes.size();
    if (gone) continue;
    if (next.score == before) {
      chosen.boxes.push_back(next.box);
      chosen.scores.push_back(next.score);
    } else if (next.score > limits.score) {
      queue.push(next);
    }
  }
  return chosen;
}

// float and half as float.
Result<std::vector<float>> floats(const Tensor& t) {
  std::vector<float> values(static_cast<std::size_t>(t.elements()));
  ARGOSY_RETURN_IF_ERROR(dispatch<FloatTypes>(t.dtype(), "NonMaxSuppression", [&]<typename T>() {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(t.data<T>()[i]);
    return ok_status();
  }));
  return values;
}
Result<float> one_float(const Tensor& t, std::string_view what) {
  if (t.shape().rank() != 0) return invalid_argument(what, " must be a scalar, not of shape ", t.shape());
  ARGOSY_ASSIGN_OR_RETURN(const std::vector<float> values, floats(t));
  return values[0];
}

// What the versions of the op share: 0 boxes or overlaps, 1 scores, 2 how many, 3 overlap, 4 score, 5 sigma.
Result<Limits> read_limits(KernelContext& c, const AttrMap& attrs, bool overlaps) {
  const Shape& boxes = c.input(0).shape();
  const bool fits = boxes.rank() == 2 && boxes[1] == (overlaps ? boxes[0] : 4);
  if (!fits)
    return invalid_argument(overlaps ? "overlaps must be square" : "boxes are [n, 4]", ", not of shape ", boxes);
  if (c.input(1).shape() != Shape{boxes[0]}) {
    return invalid_argument("scores has incompatible shape ", c.input(1).shape(), " for ", boxes);
  }
  if (c.input(2).shape().rank() != 0)
    return invalid_argument("max_output_size must be a scalar, not of shape ", c.input(2).shape());
  Limits limits{.most = *c.input(2).data<std::int32_t>(), .overlap = attrs.get_or<float>("iou_threshold", 0.5f)};
  if (limits.most < 0) return invalid_argument("max_output_size must be non-negative, not ", limits.most);
  if (c.num_inputs() > 3) {
    ARGOSY_ASSIGN_OR_RETURN(limits.overlap, one_float(c.input(3), "iou_threshold"));
  }
  if (!overlaps && !(limits.overlap >= 0 && limits.overlap <= 1)) {
    return invalid_argument("iou_threshold must be in [0, 1], not ", limits.overlap);
  }
  if (c.num_inputs() > 4) {
    ARGOSY_ASSIGN_OR_RETURN(limits.score, one_float(c.input(4), "score_threshold"));
  }
  if (c.num_inputs() > 5) {
    ARGOSY_ASSIGN_OR_RETURN(limits.sigma, one_float(c.input(5), "soft_nms_sigma"));
    if (!(limits.sigma >= 0)) return invalid_argument("soft_nms_sigma must be non-negative, not ", limits.sigma);
  }
  return limits;
}

template <bool overlaps>
Status suppress(KernelContext& c, const AttrMap& attrs) {
  ARGOSY_ASSIGN_OR_RETURN(const Limits limits, read_limits(c, attrs, overlaps));
  ARGOSY_ASSIGN_OR_RETURN(const std::vector<float> boxes, floats(c.input(0)));
  ARGOSY_ASSIGN_OR_RETURN(const std::vector<float> scores, floats(c.input(1)));
  const Chosen chosen = choose(scores, limits, [&](std::int32_t a, std::int32_t b) {
    if constexpr (overlaps) return boxes[static_cast<std::size_t>(a) * scores.size() + static_cast<std::size_t>(b)];
    return overlap(boxes.data() + 4 * a, boxes.data() + 4 * b);
  });
  const auto found = static_cast<std::int64_t>(chosen.boxes.size());
  const bool padded = attrs.get_or<bool>("pad_to_max_output_size", false);
  const std::int64_t count = padded ? limits.most : found;
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const indices, c.output(0, {count}));
  std::fill(std::copy(chosen.boxes.begin(), chosen.boxes.end(), indices->data<std::int32_t>()),
            indices->data<std::int32_t>() + count, 0);
  if (c.num_outputs() == 3) {
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const kept, c.output(1, {count}));
    ARGOSY_RETURN_IF_ERROR(dispatch<FloatTypes>(kept->dtype(), "NonMaxSuppressionV5", [&]<typename T>() {
      for (std::int64_t i = 0; i < count; ++i) {
        kept->data<T>()[i] = T(i < found ? chosen.scores[static_cast<std::size_t>(i)] : 0.0f);
      }
      return ok_status();
    }));
  }
  if (c.num_outputs() == 1) return ok_status();
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const valid, c.output(c.num_outputs() - 1, {}));
  *valid->data<std::int32_t>() = static_cast<std::int32_t>(found);
  return ok_status();
}

Status combined(KernelContext& c, const AttrMap& attrs) {
  const Tensor& boxes = c.input(0);
  const Tensor& scores = c.input(1);
  if (boxes.shape().rank() != 4 || boxes.shape()[3] != 4)
    return invalid_argument("boxes are [batch, n, classes or 1, 4], not of shape ", boxes.shape());
  if (scores.shape().rank() != 3 || scores.shape()[0] != boxes.shape()[0] || scores.shape()[1] != boxes.shape()[1]) {
    return invalid_argument("scores are [batch, n, classes], not of shape ", scores.shape(), " for boxes of ",
                            boxes.shape());
  }
  const std::int64_t batch = boxes.shape()[0], n = boxes.shape()[1], sets = boxes.shape()[2],
                     classes = scores.shape()[2];
  if (sets != 1 && sets != classes)
    return invalid_argument("third dimension of boxes must be either 1 or num classes, not ", sets);
  for (int i = 2; i < 6; ++i) {
    if (c.input(i).shape().rank() != 0)
      return invalid_argument("input ", i, " must be a scalar, not of shape ", c.input(i).shape());
  }
  const std::int64_t per_class = *c.input(2).data<std::int32_t>(), total = *c.input(3).data<std::int32_t>();
  if (per_class <= 0) return invalid_argument("max_size_per_class must be positive, not ", per_class);
  if (total <= 0) return invalid_argument("max_total_size must be > 0, not ", total);
  const Limits limits{.most = per_class, .overlap = *c.input(4).data<float>(), .score = *c.input(5).data<float>()};
  if (!(limits.overlap >= 0 && limits.overlap <= 1))
    return invalid_argument("iou_threshold must be in [0, 1], not ", limits.overlap);
  const bool clip = attrs.get_bool("clip_boxes");
  const std::int64_t count = attrs.get_bool("pad_per_class") ? std::min(total, per_class * classes) : total;
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const out_boxes, c.output(0, {batch, count, 4}));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const out_scores, c.output(1, {batch, count}));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const out_classes, c.output(2, {batch, count}));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const valid, c.output(3, {batch}));
  for (Tensor* t : {out_boxes, out_scores, out_classes}) std::fill_n(t->data<float>(), t->elements(), 0.0f);
  struct Found {
    float score;
    const float* box;
    std::int64_t of;
  };
  for (std::int64_t b = 0; b < batch; ++b) {
    std::vector<Found> found;
    const auto box_at = [&](std::int64_t i, std::int64_t k) {
      return boxes.data<float>() + ((b * n + i) * sets + (sets == 1 ? 0 : k)) * 4;
    };
    for (std::int64_t k = 0; k < classes; ++k) {
      std::vector<float> own(static_cast<std::size_t>(n));
      for (std::int64_t i = 0; i < n; ++i)
        own[static_cast<std::size_t>(i)] = scores.data<float>()[(b * n + i) * classes + k];
      const Chosen chosen =
          choose(own, limits, [&](std::int32_t p, std::int32_t q) { return overlap(box_at(p, k), box_at(q, k)); });
      for (std::size_t i = 0; i < chosen.boxes.size(); ++i)
        found.push_back({chosen.scores[i], box_at(chosen.boxes[i], k), k});
    }
    std::stable_sort(found.begin(), found.end(), [](const Found& p, const Found& q) { return p.score > q.score; });
    const auto kept = std::min<std::int64_t>(count, static_cast<std::int64_t>(found.size()));
    for (std::int64_t i = 0; i < kept; ++i) {
      const Found& f = found[static_cast<std::size_t>(i)];
      for (int k = 0; k < 4; ++k) {
        out_boxes->data<float>()[(b * count + i) * 4 + k] = clip ? std::max(std::min(f.box[k], 1.0f), 0.0f) : f.box[k];
      }
      out_scores->data<float>()[b * count + i] = f.score;
      out_classes->data<float>()[b * count + i] = static_cast<float>(f.of);
    }
    valid->data<std::int32_t>()[b] = static_cast<std::int32_t>(kept);
  }
  return ok_status();
}

}  // namespace

void add_kernels_cpu_suppression(KernelRegistry& kernels) {
  for (const char* version : {"", "V2", "V3", "V4", "V5"}) {
    kernels.add(std::string("NonMaxSuppression") + version, "cpu", AttrKernel<suppress<false>>::make);
  }
  kernels.add("NonMaxSuppressionWithOverlaps", "cpu", AttrKernel<suppress<true>>::make);
  kernels.add("CombinedNonMaxSuppression", "cpu", AttrKernel<combined>::make);
}

}  // namespace argosy::image
