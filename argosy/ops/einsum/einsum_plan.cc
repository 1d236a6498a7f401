#include "argosy/ops/einsum/einsum_plan.h"

#include <algorithm>

#include "argosy/ops/einsum/equation.h"

namespace argosy::einsum_parts {

namespace {

using Labelled = std::vector<int>;

bool has(const Labelled& labels, int label) { return std::find(labels.begin(), labels.end(), label) != labels.end(); }
bool has(const Axes& axes, int label) {
  return std::any_of(axes.begin(), axes.end(), [&](const Axis& a) { return a.label == label; });
}

Axes joined(Axes a, const Axes& b, const Axes& c) {
  a.insert(a.end(), b.begin(), b.end());
  a.insert(a.end(), c.begin(), c.end());
  return a;
}

// Returns one axis per label of an operand. The strides of a diagonal are added up; a broadcast axis of size 1 has
// stride 0.
Result<Axes> axes_of(const Shape& shape, const Labelled& labels, int input, std::map<int, std::int64_t>& sizes) {
  Axes axes;
  const std::vector<std::int64_t> strides = shape.strides();
  for (int k = 0; k < shape.rank(); ++k) {
    const int label = labels[static_cast<std::size_t>(k)];
    const auto [known, fresh] = sizes.emplace(label, shape[k]);
    if (!fresh && known->second != shape[k]) {
      if (label < kFirstBroadcast || (known->second != 1 && shape[k] != 1)) {
        return invalid_argument("Einsum: expected size ", known->second, " at axis ", k, " of input ", input,
                                " of shape ", shape);
      }
      if (known->second == 1) known->second = shape[k];
    }
    const auto same = std::find_if(axes.begin(), axes.end(), [&](const Axis& a) { return a.label == label; });
    if (same == axes.end()) {
      axes.push_back({label, shape[k], strides[static_cast<std::size_t>(k)]});
    } else {
      same->stride += strides[static_cast<std::size_t>(k)];
    }
  }
  return axes;
}

// Returns the start of the operand's matrix for each pair; batch axes of size 1 are repeated.
std::vector<std::int64_t> begins(const Axes& batch, std::int64_t matrix, const std::map<int, std::int64_t>& sizes) {
  std::vector<std::int64_t> places = {0};
  std::vector<std::int64_t> strides(batch.size());
  std::int64_t stride = matrix;
  for (std::size_t i = batch.size(); i-- > 0;) {
    strides[i] = batch[i].size == 1 ? 0 : stride;
    stride *= batch[i].size;
  }
  for (std::size_t i = 0; i < batch.size(); ++i) {
    std::vector<std::int64_t> more;
    for (const std::int64_t place : places) {
      for (std::int64_t at = 0; at < sizes.at(batch[i].label); ++at) more.push_back(place + at * strides[i]);
    }
    places = std::move(more);
  }
  return places;
}

}  // namespace

std::int64_t product(const Axes& axes) {
  std::int64_t n = 1;
  for (const Axis& a : axes) n *= a.size;
  return n;
}

bool row_major(const Axes& axes) {
  std::int64_t stride = 1;
  for (std::size_t k = axes.size(); k-- > 0;) {
    if (axes[k].size != 1 && axes[k].stride != stride) return false;
    stride *= axes[k].size;
  }
  return true;
}

Result<Plan> plan(std::string_view text, std::span<const Shape* const> operands) {
  const int count = static_cast<int>(operands.size());
  ARGOSY_ASSIGN_OR_RETURN(const Equation equation, parse(text, count));
  std::vector<int> ranks;
  for (const Shape* shape : operands) ranks.push_back(shape->rank());
  ARGOSY_ASSIGN_OR_RETURN(const Labels labels, label_axes(equation, ranks));
  const Labelled& output = labels.output;
  Plan plan;
  plan.operands = count;
  std::map<int, std::int64_t> sizes;
  Axes all[2];
  for (std::size_t i = 0; i < operands.size(); ++i) {
    ARGOSY_ASSIGN_OR_RETURN(all[i], axes_of(*operands[i], labels.inputs[i], static_cast<int>(i), sizes));
  }
  std::vector<std::int64_t> output_sizes;
  for (const int label : output) output_sizes.push_back(sizes.at(label));
  ARGOSY_ASSIGN_OR_RETURN(plan.output, Shape::make(output_sizes));

  // Batch and free axes come in the output's order, so that the product needs no reordering if possible.
  const bool two = count == 2;
  Axes batch[2], free[2], shared[2];
  Labelled seen;
  for (const int label : output) {
    if (has(seen, label)) continue;
    seen.push_back(label);
    const bool both = two && has(all[0], label) && has(all[1], label);
    for (int i = 0; i < count; ++i) {
      for (const Axis& a : all[i]) {
        if (a.label == label) (both ? batch : free)[i].push_back(a);
      }
    }
  }
  for (int i = 0; i < count; ++i) {
    for (const Axis& a : all[i]) {
      if (has(output, a.label)) continue;
      const bool both = two && has(all[1 - i], a.label);
      if (!both) plan.own[i].push_back(a);
      if (both && i == 0) shared[0].push_back(a);
    }
  }
  for (const Axis& a : shared[0]) {
    for (const Axis& b : all[1]) {
      if (b.label == a.label) shared[1].push_back(b);
    }
  }
  plan.order[0] = joined(batch[0], free[0], shared[0]);
  if (two) {
    // Takes the second operand as it is or transposed, whichever its memory already is.
    const Axes turned = joined(batch[1], free[1], shared[1]);
    plan.transposed = plan.own[1].empty() && row_major(turned);
    plan.order[1] = plan.transposed ? turned : joined(batch[1], shared[1], free[1]);
    plan.m = product(free[0]);
    plan.n = product(free[1]);
    plan.k = product(shared[0]);
    plan.first = begins(batch[0], plan.m * plan.k, sizes);
    plan.second = begins(batch[1], plan.k * plan.n, sizes);
  }
  Axes whole;
  for (const Axis& a : batch[0]) whole.push_back({a.label, sizes.at(a.label), 0});
  plan.target = joined(std::move(whole), free[0], free[1]);
  const std::vector<std::int64_t> strides = plan.output.strides();
  for (Axis& a : plan.target) {
    a.stride = 0;
    for (std::size_t i = 0; i < output.size(); ++i) {
      if (output[i] == a.label) a.stride += strides[i];
    }
  }
  return plan;
}

}  // namespace argosy::einsum_parts
