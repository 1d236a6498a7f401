#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "argosy/base/threads/interrupt.h"
#include "argosy/ops/gather/gather_registration.h"
#include "argosy/ops/layout/strided/strided_copy.h"

namespace argosy {

namespace {

using Comparable = TypeList<float, double, bfloat16, float16, std::int32_t, std::int64_t, std::uint8_t, std::int8_t,
                            std::int16_t, std::uint16_t, std::uint32_t, std::uint64_t, bool, std::string>;

template <typename T>
inline constexpr bool kIs16BitFloat = std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;

// Equality by value: 0 equals -0; NaN equals nothing, not even itself.
template <typename T>
bool equal(const T& a, const T& b) {
  if constexpr (kIs16BitFloat<T>) {
    return static_cast<float>(a) == static_cast<float>(b);
  } else {
    return a == b;
  }
}
template <typename T>
std::size_t hash(const T& value) {
  if constexpr (kIs16BitFloat<T>) {
    return std::hash<float>()(static_cast<float>(value));
  } else {
    return std::hash<T>()(value);
  }
}

// Slices of a tensor [outer, n, inner] along the middle axis, compared as wholes.
template <typename T>
struct Slices {
  const T* data;
  std::int64_t outer, n, inner;

  const T& at(std::int64_t o, std::int64_t slice, std::int64_t i) const { return data[(o * n + slice) * inner + i]; }
  std::size_t hash_of(std::int64_t slice) const {
    std::size_t h = 0;
    for (std::int64_t o = 0; o < outer; ++o) {
      for (std::int64_t i = 0; i < inner; ++i) h = h * 0x9E3779B97F4A7C15u + hash(at(o, slice, i));
    }
    return h;
  }
  bool same(std::int64_t a, std::int64_t b) const {
    for (std::int64_t o = 0; o < outer; ++o) {
      for (std::int64_t i = 0; i < inner; ++i) {
        if (!equal(at(o, a, i), at(o, b, i))) return false;
      }
    }
    return true;
  }
};

void write_index(const Tensor& t, std::int64_t at, std::int64_t value) {
  if (t.dtype() == DType::kInt64) {
    t.raw_as<std::int64_t>()[at] = value;
  } else {
    t.raw_as<std::int32_t>()[at] = static_cast<std::int32_t>(value);
  }
}

template <typename T>
Status unique_slices(KernelContext& c, const Tensor& x, int axis) {
  Slices<T> slices{x.data<T>(), 1, x.shape()[axis], 1};
  for (int i = 0; i < axis; ++i) slices.outer *= x.shape()[i];
  for (int i = axis + 1; i < x.shape().rank(); ++i) slices.inner *= x.shape()[i];
  if (slices.outer == 0 || slices.inner == 0) {
    // All slices are empty and so equal.
    const std::int64_t distinct = std::min<std::int64_t>(slices.n, 1);
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const idx, c.output(1, Shape({slices.n})));
    for (std::int64_t s = 0; s < slices.n; ++s) write_index(*idx, s, 0);
    ARGOSY_RETURN_IF_ERROR(c.output(0, x.shape().with(axis, distinct)).status());
    if (c.num_outputs() == 3) {
      ARGOSY_ASSIGN_OR_RETURN(Tensor* const count, c.output(2, Shape({distinct})));
      if (distinct > 0) write_index(*count, 0, slices.n);
    }
    return ok_status();
  }
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const idx, c.output(1, Shape({slices.n})));
  const auto hasher = [&](std::int64_t s) { return slices.hash_of(s); };
  const auto same = [&](std::int64_t a, std::int64_t b) { return a == b || slices.same(a, b); };
  std::unordered_map<std::int64_t, std::int64_t, decltype(hasher), decltype(same)> places(
      static_cast<std::size_t>(slices.n), hasher, same);
  std::vector<std::int64_t> firsts, counts;  // of each distinct slice
  Poll poll(slices.inner * slices.outer > 64 ? 16 : 1024);
  for (std::int64_t s = 0; s < slices.n; ++s) {
    poll();
    const auto [found, fresh] = places.try_emplace(s, static_cast<std::int64_t>(firsts.size()));
    if (fresh) {
      firsts.push_back(s);
      counts.push_back(0);
    }
    ++counts[static_cast<std::size_t>(found->second)];
    write_index(*idx, s, found->second);
  }
  const auto distinct = static_cast<std::int64_t>(firsts.size());
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, x.shape().with(axis, distinct)));
  for (std::int64_t o = 0; o < slices.outer; ++o) {
    for (std::int64_t k = 0; k < distinct; ++k) {
      copy_span(*y, (o * distinct + k) * slices.inner, x,
                (o * slices.n + firsts[static_cast<std::size_t>(k)]) * slices.inner, slices.inner);
    }
  }
  if (c.num_outputs() == 3) {
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const count, c.output(2, Shape({distinct})));
    for (std::int64_t k = 0; k < distinct; ++k) write_index(*count, k, counts[static_cast<std::size_t>(k)]);
  }
  return ok_status();
}

Status unique(KernelContext& c) {
  const Tensor& x = c.input(0);
  int axis = 0;
  bool given = false;
  if (c.num_inputs() == 2) {
    if (c.input(1).shape().rank() != 1 || c.input(1).elements() > 1) {
      return invalid_argument("Unique: axis must be a vector of at most one number, not of shape ", c.input(1).shape());
    }
    ARGOSY_ASSIGN_OR_RETURN(const Ints axes, read_ints(c.input(1), "Unique: axis"));
    given = !axes.empty();
    if (given) {
      ARGOSY_ASSIGN_OR_RETURN(axis, normalize_axis(axes[0], x.shape().rank(), "Unique"));
    }
  }
  if (!given && x.shape().rank() != 1) {
    return invalid_argument("Unique: x must be a vector, not of shape ", x.shape());
  }
  return dispatch<Comparable>(x.dtype(), "Unique", [&]<typename T>() { return unique_slices<T>(c, x, axis); });
}

Status list_diff(KernelContext& c) {
  const Tensor& x = c.input(0);
  const Tensor& y = c.input(1);
  if (x.shape().rank() != 1 || y.shape().rank() != 1) {
    return invalid_argument("ListDiff: x and y must be vectors, not of shape ", x.shape(), " and ", y.shape());
  }
  return dispatch<Comparable>(x.dtype(), "ListDiff", [&]<typename T>() -> Status {
    std::unordered_set<T, decltype(&hash<T>), decltype(&equal<T>)> known(static_cast<std::size_t>(y.elements()),
                                                                         hash<T>, equal<T>);
    Poll poll(1024);
    for (const T& value : y.values<T>()) {
      poll();
      known.insert(value);
    }
    std::vector<std::int64_t> left;
    for (std::int64_t i = 0; i < x.elements(); ++i) {
      poll();
      if (!known.contains(x.data<T>()[i])) left.push_back(i);
    }
    const Shape shape({static_cast<std::int64_t>(left.size())});
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const out, c.output(0, shape));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const idx, c.output(1, shape));
    for (std::size_t k = 0; k < left.size(); ++k) {
      copy_span(*out, static_cast<std::int64_t>(k), x, left[k], 1);
      write_index(*idx, static_cast<std::int64_t>(k), left[k]);
    }
    return ok_status();
  });
}

}  // namespace

void add_uniques(KernelRegistry& kernels) {
  for (const char* op : {"Unique", "UniqueV2", "UniqueWithCounts", "UniqueWithCountsV2"}) {
    kernels.add(op, "cpu", unique);
  }
  kernels.add("ListDiff", "cpu", list_diff);
}

}  // namespace argosy
