#include "argosy/sharding/sizes/sizes.h"

#include <algorithm>
#include <array>

namespace argosy {

namespace {

// Batch sizes that are tried. The function goes through two large ones, kNominal and its double. Most divisors that a
// Reshape may need divide them. A small one, prime to them, refutes functions that do not hold: min(batch, 100),
// batch % 4. The smallest finds graphs that need several examples.
constexpr std::int64_t kNominal = 55440;
constexpr std::array<std::int64_t, 2> kSmall = {13, 2};

// Lengths that are tried: the shortest, and the longest as a multiple of the example's. 1 is not tried: such an axis is
// broadcast, and a Squeeze removes it.
constexpr std::int64_t kShortest = 2, kLong = 1024;

Status wrong(std::string_view what) { return invalid_argument(what).with_id("ARG-SHARD-011"); }

std::map<NodeId, PartialShape> fed_shapes(const Graph& graph, const SizesRequest& request, std::int64_t batch) {
  std::map<NodeId, PartialShape> fed;
  for (const auto& [id, shape] : request.examples) fed[id] = PartialShape(shape);
  for (const NodeId id : request.batch) {
    const auto example = fed.find(id);
    PartialShape shape = example != fed.end() ? example->second : graph.node(id).output_shapes[0];
    if (!shape.has_rank()) continue;
    PartialShape::Sizes sizes = shape.sizes();
    sizes[0] = batch;
    fed[id] = PartialShape(std::move(sizes));
  }
  return fed;
}

// Returns the number of rows of the first example with rows; 0: not known.
std::int64_t own_size(const SizesRequest& request) {
  for (const NodeId id : request.batch) {
    const auto example = request.examples.find(id);
    if (example != request.examples.end() && example->second.rank() > 0) return example->second[0];
  }
  return 0;
}

// Returns kSmall and, if it lies between them, own_size(); largest first.
std::vector<std::int64_t> small_sizes(const SizesRequest& request) {
  std::vector<std::int64_t> sizes(kSmall.begin(), kSmall.end());
  const std::int64_t own = own_size(request);
  if (own < kSmall.front() && own > kSmall.back()) sizes.insert(sizes.begin() + 1, own);
  return sizes;
}

bool agrees(const AffineSize& f, std::int64_t batch, std::int64_t size) { return f.at(batch) == size; }

AffineSize function_through(std::int64_t small, std::int64_t large) {
  const std::int64_t grown = large - small;
  if (grown % kNominal != 0) return {0, -1};  // agrees with neither
  return {grown / kNominal, small - grown};
}

}  // namespace

Result<Sizes> Sizes::find(const Graph& graph, const SizesRequest& request) {
  ARGOSY_ASSIGN_OR_RETURN(auto order, graph.topological_order());
  Sizes sizes(graph, std::move(order));
  sizes.only_ = request.exactly;
  for (const NodeId id : request.batch) {
    const Node& n = graph.node(id);
    const PartialShape& shape = n.output_shapes[0];
    if (shape.rank() == 0) return wrong(str_cat("'", n.name, "' is a scalar: it cannot carry a batch"));
    if (!shape.has_rank() || shape[0] < 0) continue;
    if (sizes.only_ && *sizes.only_ != shape[0]) {
      return wrong(str_cat("'", n.name, "' has a batch of ", shape[0], ", another input one of ", *sizes.only_));
    }
    sizes.only_ = shape[0];
  }
  const auto with = [&](std::int64_t batch) {
    return infer_shapes(graph, sizes.index_, sizes.order_, fed_shapes(graph, request, batch), batch);
  };
  const std::int64_t nominal = sizes.only_.value_or(kNominal);
  auto at = with(nominal);
  if (!at.ok()) {
    return wrong(str_cat("the shapes do not fit together for a batch of ", nominal, ": ", at.status().message()))
        .with_hint("give the batch size that the graph is written for");
  }
  sizes.at_ = *std::move(at);
  if (sizes.only_) {
    sizes.forget_lengths(request);
    return sizes;
  }
  auto twice = with(2 * kNominal);
  if (!twice.ok()) return wrong(str_cat("for a batch of ", 2 * kNominal, ": ", twice.status().message()));
  sizes.twice_ = *std::move(twice);
  sizes.smallest_ = kNominal;
  std::vector<InferredShapes> others;
  for (const std::int64_t batch : small_sizes(request)) {
    auto inferred = with(batch);
    if (!inferred.ok()) break;  // too few examples: such batches are not covered
    sizes.smallest_ = batch;
    others.push_back(*std::move(inferred));
  }
  sizes.largest_ = 2 * kNominal;
  // What looks like a function up to there, min(batch, 200000), may be none of a larger batch.
  if (const std::int64_t own = own_size(request); own > sizes.largest_) {
    if (auto inferred = with(own); inferred.ok()) {
      sizes.largest_ = own;
      others.push_back(*std::move(inferred));
    }
  }
  sizes.keep_functions(others);
  sizes.forget_lengths(request);
  return sizes;
}

// Makes sizes and integers unknown that differ in `other`.
void Sizes::keep_equal(const InferredShapes& other) {
  for (std::size_t i = 0; i < at_.shapes.size(); ++i) {
    const PartialShape &one = at_.shapes[i], &two = other.shapes[i];
    if (one.has_rank() && two.rank() != one.rank()) {
      at_.shapes[i] = PartialShape::unknown();
    } else if (one.has_rank()) {
      PartialShape::Sizes sizes = one.sizes();
      for (int d = 0; d < one.rank(); ++d) {
        if (one[d] != two[d]) sizes[static_cast<std::size_t>(d)] = PartialShape::kUnknown;
      }
      at_.shapes[i] = PartialShape(std::move(sizes));
    }
    auto& ints = at_.ints[i];
    if (!ints) continue;
    if (!other.ints[i] || other.ints[i]->size() != ints->size()) {
      ints.reset();
      continue;
    }
    for (std::size_t k = 0; k < ints->size(); ++k) {
      if ((*ints)[k] != (*other.ints[i])[k]) (*ints)[k].reset();
    }
  }
}

void Sizes::forget_lengths(const SizesRequest& request) {
  using Places = std::vector<std::pair<NodeId, int>>;
  std::map<std::int64_t, Places> lengths;  // by size: where the graph leaves it open
  for (const auto& [id, example] : request.examples) {
    const PartialShape& said = graph_->node(id).output_shapes[0];
    const bool batch = std::find(request.batch.begin(), request.batch.end(), id) != request.batch.end();
    for (int d = batch ? 1 : 0; d < example.rank(); ++d) {
      if (!said.has_rank() || said[d] < 0) lengths[example[d]].push_back({id, d});
    }
  }
  const auto fed = fed_shapes(*graph_, request, at_.batch);
  // True if shapes fit together with another length there. Then sizes that it changes become unknown.
  const auto fits_with = [&](const Places& where, std::int64_t other) {
    auto changed = fed;
    for (const auto& [id, d] : where) {
      PartialShape::Sizes sizes = changed[id].sizes();
      sizes[static_cast<std::size_t>(d)] = other;
      changed[id] = PartialShape(std::move(sizes));
    }
    const auto inferred = infer_shapes(*graph_, index_, order_, changed, at_.batch);
    if (inferred.ok()) keep_equal(*inferred);
    return inferred.ok();
  };
  for (const auto& [length, where] : lengths) {
    std::int64_t least = length, most = length;
    // The shortest that fits: of a length that is cut, x[:, :10], the cut may be all that longer ones show.
    for (std::int64_t other = kShortest; other < length && least == length;
         other += std::max<std::int64_t>(1, other / 2)) {
      if (fits_with(where, other)) least = other;
    }
    // Multiples, for what is halved again and again. What a long one changes, x[:, 10:], a short one may not.
    for (const std::int64_t other : {length + 1, 2 * length, kLong * length}) {
      if (other > length && fits_with(where, other)) most = std::max(most, other);
    }
    for (const auto& place : where) {
      covered_[place.first].push_back({place.second, least, most});
      // Lengths that are equal in the example need not be so next time.
      if (where.size() > 1) (void)fits_with({place}, most);
    }
  }
}

bool Sizes::fits(NodeId fed, const Shape& shape) const {
  const auto found = covered_.find(fed);
  if (found == covered_.end()) return true;
  return std::all_of(found->second.begin(), found->second.end(), [&](const Covered& c) {
    return c.dim < shape.rank() && shape[c.dim] >= c.least && shape[c.dim] <= c.most;
  });
}

void Sizes::keep_functions(const std::vector<InferredShapes>& others) {
  for (std::size_t i = 0; i < at_.shapes.size(); ++i) {
    const PartialShape &one = at_.shapes[i], &two = twice_.shapes[i];
    const auto same_rank = [&](const InferredShapes& o) { return o.shapes[i].rank() == one.rank(); };
    if (one.has_rank() && two.rank() == one.rank() && std::all_of(others.begin(), others.end(), same_rank)) {
      for (int d = 0; d < one.rank(); ++d) {
        bool holds = one[d] >= 0 && two[d] >= 0;
        const AffineSize f = holds ? function_through(one[d], two[d]) : AffineSize{};
        for (const InferredShapes& o : others) holds = holds && agrees(f, o.batch, o.shapes[i][d]);
        if (holds || one[d] < 0) continue;
        PartialShape::Sizes unknown = one.sizes();
        unknown[static_cast<std::size_t>(d)] = PartialShape::kUnknown;
        at_.shapes[i] = PartialShape(std::move(unknown));
      }
    } else if (one.has_rank()) {
      at_.shapes[i] = PartialShape::unknown();
    }
    auto& ints = at_.ints[i];
    if (!ints) continue;
    const auto as_many = [&](const InferredShapes& o) { return o.ints[i] && o.ints[i]->size() == ints->size(); };
    if (!as_many(twice_) || !std::all_of(others.begin(), others.end(), as_many)) {
      ints.reset();
      continue;
    }
    for (std::size_t k = 0; k < ints->size(); ++k) {
      auto& value = (*ints)[k];
      const auto& more = (*twice_.ints[i])[k];
      bool holds = value && more;
      const AffineSize f = holds ? function_through(*value, *more) : AffineSize{};
      for (const InferredShapes& o : others) holds = holds && (*o.ints[i])[k] && agrees(f, o.batch, *(*o.ints[i])[k]);
      if (!holds) value.reset();
    }
  }
}

const HandleFact* Sizes::handle(Endpoint e) const {
  const auto found = at_.handles.find(e);
  return found == at_.handles.end() ? nullptr : &found->second;
}

std::optional<AffineSize> Sizes::dim(Endpoint e, int dim) const {
  const PartialShape& known = shape(e);
  if (!known.has_rank() || dim < 0 || dim >= known.rank() || known[dim] < 0) return std::nullopt;
  if (only_) return AffineSize{0, known[dim]};
  return function_through(known[dim], twice_.shapes[index_(e)][dim]);
}

std::optional<AffineSize> Sizes::element(Endpoint e, int element) const {
  const PartialInts* const known = ints(e);
  if (known == nullptr || element < 0 || element >= std::ssize(*known)) return std::nullopt;
  const auto at = static_cast<std::size_t>(element);
  if (!(*known)[at]) return std::nullopt;
  if (only_) return AffineSize{0, *(*known)[at]};
  return function_through(*(*known)[at], *(*twice_.ints[index_(e)])[at]);
}

PartialShape Sizes::shape(Endpoint e, std::int64_t batch) const {
  const PartialShape& known = shape(e);
  if (!known.has_rank()) return known;
  PartialShape::Sizes sizes = known.sizes();
  for (int d = 0; d < known.rank(); ++d) {
    if (const auto f = dim(e, d)) sizes[static_cast<std::size_t>(d)] = f->at(batch);
  }
  return PartialShape(std::move(sizes));
}

double Sizes::bytes(Endpoint e, std::int64_t batch) const {
  const DType dtype = graph_->dtype(e);
  double bytes = is_plain(dtype) ? static_cast<double>(element_bytes(dtype)) : 8;
  const PartialShape& known = shape(e);
  for (int d = 0; d < known.rank(); ++d) {
    if (const auto f = dim(e, d)) bytes *= static_cast<double>(f->at(batch));
  }
  return bytes;
}

}  // namespace argosy
