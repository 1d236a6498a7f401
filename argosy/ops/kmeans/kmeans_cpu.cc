#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "argosy/base/threads/interrupt.h"
#include "argosy/base/threads/parallel.h"
#include "argosy/op/kernel/kernel.h"
#include "argosy/op/kernel/step_context.h"
#include "argosy/ops/onednn/onednn.h"
#include "argosy/ops/random/random_numbers.h"

namespace argosy {

namespace {

constexpr float kFar = std::numeric_limits<float>::infinity();
constexpr std::int64_t kBlock = 256;                // points whose distances are in memory at once
constexpr std::int64_t kValuesPerThread = 1 << 14;  // looked at, that waking a thread pays for

Status check_rank(const Tensor& t, int rank, const char* name) {
  if (t.shape().rank() == rank) return ok_status();
  const char* const wanted = rank == 0 ? "scalar" : rank == 1 ? "vector" : "matrix";
  return invalid_argument("Input ", name, " should be a ", wanted, ", not of shape ", t.shape());
}

Result<std::int64_t> scalar(const Tensor& t, const char* name) {
  ARGOSY_RETURN_IF_ERROR(check_rank(t, 0, name));
  return *t.data<std::int64_t>();
}

// Half the squared length of every row.
std::vector<float> half_norms(const float* rows, std::int64_t n, std::int64_t d) {
  std::vector<float> norms(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) {
    const float* const row = rows + i * d;
    norms[static_cast<std::size_t>(i)] = 0.5f * std::inner_product(row, row + d, row, 0.0f);
  }
  return norms;
}

// --- nearest centers -------------------------------------------------------------------------------------------------

// |x - y|² / 2 = |x|² / 2 - x·y + |y|² / 2: the products of all points with all centers are one matrix product.
Status nearest_neighbors(KernelContext& c) {
  const Tensor &points = c.input(0), &centers = c.input(1);
  ARGOSY_RETURN_IF_ERROR(check_rank(points, 2, "points"));
  ARGOSY_RETURN_IF_ERROR(check_rank(centers, 2, "centers"));
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t wanted, scalar(c.input(2), "k"));
  const std::int64_t n = points.shape()[0], m = centers.shape()[0], d = points.shape()[1];
  if (n == 0) return invalid_argument("Expected points.rows() > 0.");
  if (d != centers.shape()[1]) {
    return invalid_argument("Expected point_dimensions == center_dimensions: ", d, " vs ", centers.shape()[1]);
  }
  if (wanted < 0) return invalid_argument("Expected k >= 0, not ", wanted);
  const std::int64_t k = std::min(wanted, m);
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const indices, c.output(0, Shape{n, k}));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const distances, c.output(1, Shape{n, k}));
  if (k == 0) return ok_status();
  const auto* const x = points.data<float>();
  const auto* const y = centers.data<float>();
  const std::vector<float> of_points = half_norms(x, n, d), of_centers = half_norms(y, m, d);
  std::vector<float> products(static_cast<std::size_t>(std::min(n, kBlock) * m));
  for (std::int64_t first = 0; first < n; first += kBlock) {
    const std::int64_t rows = std::min(kBlock, n - first);
    if (d > 0) {
      ARGOSY_RETURN_IF_ERROR(onednn::sgemm(false, true, rows, m, d, x + first * d, y, false, products.data()));
    }
    parallel_for(rows, kValuesPerThread / m + 1, [&](std::int64_t begin, std::int64_t end) {
      std::vector<std::int64_t> order(static_cast<std::size_t>(m));
      for (std::int64_t r = begin; r < end; ++r) {
        float* const half = products.data() + r * m;  // the distances, halved
        const float norm = of_points[static_cast<std::size_t>(first + r)];
        for (std::int64_t j = 0; j < m; ++j) half[j] = norm + of_centers[static_cast<std::size_t>(j)] - half[j];
        // What is no number is farther than all else: sorting needs an order.
        const auto key = [&](std::int64_t j) { return std::isnan(half[j]) ? kFar : half[j]; };
        const auto nearer = [&](std::int64_t a, std::int64_t b) { return key(a) != key(b) ? key(a) < key(b) : a < b; };
        std::iota(order.begin(), order.end(), 0);
        std::partial_sort(order.begin(), order.begin() + k, order.end(), nearer);
        std::int64_t* const to = indices->data<std::int64_t>() + (first + r) * k;
        float* const far = distances->data<float>() + (first + r) * k;
        for (std::int64_t j = 0; j < k; ++j) {
          to[j] = order[static_cast<std::size_t>(j)];
          far[j] = half[to[j]] < 0 ? 0.0f : 2 * half[to[j]];  // below 0 by rounding alone
        }
      }
    });
  }
  return ok_status();
}

// --- first centers ---------------------------------------------------------------------------------------------------

class Seeding {
 public:
  Seeding(const float* points, std::int64_t n, std::int64_t d, std::uint64_t seed)
      : points_(points),
        n_(n),
        d_(d),
        numbers_(Philox(seed, 0)),
        norms_(half_norms(points, n, d)),
        nearest_(static_cast<std::size_t>(n), kFar),
        up_to_(static_cast<std::size_t>(n)),
        drawn_(static_cast<std::size_t>(n), 0) {}

  // The next center. Of several draws the one after which the points are nearest to centers. Ends with
  // the step: draws may be very many.
  Result<std::int64_t> next(std::int64_t draws) {
    if (!first_) std::partial_sum(nearest_.begin(), nearest_.end(), up_to_.begin());
    std::int64_t best = -1;
    float best_sum = 0;
    std::vector<float> best_nearest;
    for (std::int64_t i = 0; i < draws; ++i) {
      check_interrupted();
      const std::int64_t index = draw();
      std::vector<float> nearest = with(index);
      const float sum = draws == 1 ? 0 : std::accumulate(nearest.begin(), nearest.end(), 0.0f);
      if (best >= 0 && !(sum < best_sum)) continue;
      best = index;
      best_sum = sum;
      best_nearest = std::move(nearest);
    }
    nearest_ = std::move(best_nearest);
    drawn_[static_cast<std::size_t>(best)] = 1;
    first_ = false;
    return best;
  }

 private:
  // Where all that is left is at distance 0 (points that are equal), or nothing can be compared, the next one will do.
  std::int64_t draw() {
    if (first_) return static_cast<std::int64_t>(numbers_.below(static_cast<std::uint64_t>(n_)));
    for (int tries = 0; tries < kMostTries; ++tries) {
      const float at = numbers_.unit_float() * up_to_.back();
      const auto index = std::upper_bound(up_to_.begin(), up_to_.end(), at) - up_to_.begin();
      if (index < n_ && drawn_[static_cast<std::size_t>(index)] == 0) return index;
    }
    return std::find(drawn_.begin(), drawn_.end(), 0) - drawn_.begin();
  }

  // Distances, halved, from the nearest center, were this point one.
  std::vector<float> with(std::int64_t index) const {
    std::vector<float> nearest = nearest_;
    const float* const center = points_ + index * d_;
    const float norm = norms_[static_cast<std::size_t>(index)];
    parallel_for(n_, kValuesPerThread / (d_ + 1) + 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const float* const row = points_ + i * d_;
        const float far = norms_[static_cast<std::size_t>(i)] + norm - std::inner_product(row, row + d_, center, 0.0f);
        nearest[static_cast<std::size_t>(i)] = std::min(nearest[static_cast<std::size_t>(i)], far);
      }
    });
    return nearest;
  }

  static constexpr int kMostTries = 1 << 16;
  const float* const points_;
  const std::int64_t n_, d_;
  RandomNumbers numbers_;
  const std::vector<float> norms_;
  std::vector<float> nearest_;  // by point: half the squared distance from the nearest center
  std::vector<float> up_to_;    // sums of these from the first point on
  std::vector<char> drawn_;
  bool first_ = true;
};

Status kmeans_plus_plus(KernelContext& c) {
  const Tensor& points = c.input(0);
  ARGOSY_RETURN_IF_ERROR(check_rank(points, 2, "points"));
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t count, scalar(c.input(1), "num_to_sample"));
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t seed, scalar(c.input(2), "seed"));
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t retries, scalar(c.input(3), "num_retries_per_sample"));
  const std::int64_t n = points.shape()[0], d = points.shape()[1];
  if (n == 0) return invalid_argument("Expected points.rows() > 0.");
  if (count <= 0) return invalid_argument("Expected num_to_sample > 0.");
  if (count > n) return invalid_argument("Expected num_to_sample <= points.rows(). ", count, " vs ", n, ".");
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const samples, c.output(0, Shape{count, d}));
  Seeding seeding(points.data<float>(), n, d, static_cast<std::uint64_t>(seed));
  for (std::int64_t s = 0; s < count; ++s) {
    const std::int64_t draws = std::clamp<std::int64_t>(retries, 0, INT64_MAX - 1) + 1;
    ARGOSY_ASSIGN_OR_RETURN(const std::int64_t index, seeding.next(draws));
    std::copy_n(points.data<float>() + index * d, d, samples->data<float>() + s * d);
  }
  return ok_status();
}

// Metropolis-Hastings: the next candidate takes over with a probability of its distance over the present one's.
Status kmc2_chain(KernelContext& c) {
  const Tensor& distances = c.input(0);
  ARGOSY_RETURN_IF_ERROR(check_rank(distances, 1, "distances"));
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t seed, scalar(c.input(1), "seed"));
  const std::int64_t n = distances.elements();
  if (n == 0) return invalid_argument("Expected distances_tensor.size() > 0.");
  const auto* const far = distances.data<float>();
  RandomNumbers numbers(Philox(static_cast<std::uint64_t>(seed), 0));
  std::int64_t at = 0;
  for (std::int64_t i = 1; i < n; ++i) {
    if (far[i] > numbers.unit_float() * far[at]) at = i;
  }
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const index, c.output(0, Shape{}));
  *index->data<std::int64_t>() = at;
  return ok_status();
}

}  // namespace

void add_kernels_cpu_kmeans(KernelRegistry& kernels) {
  kernels.add("NearestNeighbors", "cpu", nearest_neighbors);
  kernels.add("KmeansPlusPlusInitialization", "cpu", kmeans_plus_plus);
  kernels.add("KMC2ChainInitialization", "cpu", kmc2_chain);
}

}  // namespace argosy
