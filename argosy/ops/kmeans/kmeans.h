// k-means: which centers are nearest to points, and which points are good centers to begin with. Points and centers are
// rows; distances are squared Euclidean ones. Compute on CPUs, as TensorFlow does; no gradients.
#pragma once

#include <cstdint>

#include "argosy/graph/graph.h"

namespace argosy {

// The nearest centers of each point.
struct Nearest {
  Value indices;    // [points, min(k, centers)], int64: nearest first, of equally near ones the first
  Value distances;  // likewise
};
// points [n, d], centers [m, d], k a scalar of int64.
Nearest nearest_neighbors(Value points, Value centers, Value k);

// `count` of the points [n, d], drawn by k-means++ (Arthur and Vassilvitskii 2007). The probability of a point grows
// with its distance from those drawn so far. Of 1 + `retries` draws, the one that leaves the smallest distances is
// taken. The same numbers as TensorFlow's for the same seed.
Value kmeans_plus_plus(Value points, std::int64_t count, std::int64_t seed, std::int64_t retries = 0);

// Candidates have these distances [n] from the centers so far. Gives the index of the one at the end of a Markov chain
// through all of them (k-MC2: Bachem, Lucic, Hassani and Krause 2016).
Value kmc2_chain(Value distances, std::int64_t seed);

}  // namespace argosy
