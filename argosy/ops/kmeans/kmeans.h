// k-means: the nearest centers of points, and initial centers. Points and centers are rows; distances are squared
// Euclidean ones. Runs on CPUs, as in TensorFlow; no gradients.
#pragma once

#include <cstdint>

#include "argosy/graph/graph.h"

namespace argosy {

// The nearest centers of each point.
struct Nearest {
  Value indices;    // [points, min(k, centers)], int64: nearest first; of equally near ones the first
  Value distances;  // likewise
};
// The min(k, m) nearest centers of each point: points [n, d], centers [m, d], k a scalar of int64.
Nearest nearest_neighbors(Value points, Value centers, Value k);

// Returns `count` of the points [n, d], drawn by k-means++ (Arthur and Vassilvitskii 2007). The probability of a point
// is proportional to its squared distance from those drawn so far. Each step draws 1 + `retries` points, and keeps the
// one that leaves the smallest distances. The numbers are TensorFlow's for the same seed.
Value kmeans_plus_plus(Value points, std::int64_t count, std::int64_t seed, std::int64_t retries = 0);

// Returns the index of a next center, by a Markov chain through candidates with these distances [n] from the centers so
// far (k-MC2: Bachem, Lucic, Hassani and Krause 2016).
Value kmc2_chain(Value distances, std::int64_t seed);

}  // namespace argosy
