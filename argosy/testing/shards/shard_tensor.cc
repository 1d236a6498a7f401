#include "argosy/testing/shards/shard_tensor.h"

#include <algorithm>
#include <complex>
#include <cstring>
#include <limits>

#include "argosy/testing/op_cases/op_case.h"

namespace argosy {

namespace {

// A tensor as [outer, size, inner] around a factor.
struct View {
  std::int64_t outer = 1, inner = 1;
};

View view_of(const Shape& shape, const Placement& p, std::int64_t size) {
  View v;
  for (int d = 0; d < p.dim; ++d) v.outer *= shape[d];
  v.outer *= p.rounds;
  v.inner = size == 0 ? 1 : shape[p.dim] / (p.rounds * size);
  for (int d = p.dim + 1; d < shape.rank(); ++d) v.inner *= shape[d];
  return v;
}

Shape with_dim(const Shape& shape, int dim, std::int64_t size) {
  std::vector<std::int64_t> sizes(shape.sizes().begin(), shape.sizes().end());
  sizes[static_cast<std::size_t>(dim)] = size;
  return Shape(std::span<const std::int64_t>(sizes));
}

// Copies `count` elements.
void copy(const Tensor& from, std::int64_t at, Tensor& to, std::int64_t to_at, std::int64_t count) {
  if (from.dtype() == DType::kString) {
    std::copy_n(from.data<std::string>() + at, count, to.data<std::string>() + to_at);
    return;
  }
  const auto bytes = static_cast<std::int64_t>(element_bytes(from.dtype()));
  if (count > 0) {
    std::memcpy(static_cast<char*>(to.raw()) + to_at * bytes, static_cast<const char*>(from.raw()) + at * bytes,
                static_cast<std::size_t>(count * bytes));
  }
}

template <typename T>
void combine_into(Tensor& all, const Tensor& part, Combine how) {
  T* const to = all.data<T>();
  const T* const from = part.data<T>();
  for (std::int64_t i = 0; i < all.elements(); ++i) {
    if constexpr (std::is_integral_v<T>) {
      using U = std::make_unsigned_t<T>;
      if (how == Combine::kSum) to[i] = static_cast<T>(static_cast<U>(static_cast<U>(to[i]) + static_cast<U>(from[i])));
    } else {
      if (how == Combine::kSum) to[i] = T(to[i] + from[i]);
    }
    if constexpr (requires(T a) { a < a; }) {
      if (how == Combine::kMax && to[i] < from[i]) to[i] = from[i];
      if (how == Combine::kMin && from[i] < to[i]) to[i] = from[i];
    }
  }
}

// Copies the tensor, times `weight`.
Status weighted(Tensor& t, double weight) {
  Tensor scaled = Tensor::zeros(t.dtype(), t.shape());
  ARGOSY_RETURN_IF_ERROR(dispatch<NumberTypes>(t.dtype(), "weight", [&]<typename T>() {
    for (std::int64_t i = 0; i < t.elements(); ++i) scaled.data<T>()[i] = T(t.data<T>()[i] * T(weight));
    return ok_status();
  }));
  t = scaled;
  return ok_status();
}

}  // namespace

Tensor shard_of(const Tensor& t, const Placement& p, std::int64_t size, std::int64_t begin, std::int64_t end) {
  const View v = view_of(t.shape(), p, size);
  const std::int64_t own = size == 0 ? 0 : t.shape()[p.dim] / size * (end - begin);
  Tensor shard = Tensor::zeros(t.dtype(), with_dim(t.shape(), p.dim, own));
  for (std::int64_t o = 0; o < v.outer; ++o) {
    copy(t, (o * size + begin) * v.inner, shard, o * (end - begin) * v.inner, (end - begin) * v.inner);
  }
  return shard;
}

Result<Tensor> join_shards(const std::vector<Tensor>& shards, const Placement& p,
                           const std::vector<std::int64_t>& ends) {
  const std::int64_t size = ends.back();
  std::int64_t unit = -1, begin = 0;
  for (std::size_t s = 0; s < shards.size(); begin = ends[s++]) {
    const Shape& shape = shards[s].shape();
    if (shape.rank() != shards[0].shape().rank() || p.dim >= shape.rank() || shards[s].dtype() != shards[0].dtype()) {
      return invalid_argument("shard ", s, " has shape ", shape, ", shard 0 ", shards[0].shape());
    }
    if (!(with_dim(shape, p.dim, 0) == with_dim(shards[0].shape(), p.dim, 0))) {
      return invalid_argument("shard ", s, " has shape ", shape, ", shard 0 ", shards[0].shape());
    }
    const std::int64_t own = ends[s] - begin, have = shape[p.dim];
    if (own == 0 ? have != 0 : have % own != 0 || (unit >= 0 && have / own != unit)) {
      return invalid_argument("shard ", s, " of ", own, " elements has ", have, " along dimension ", int{p.dim});
    }
    if (own > 0) unit = have / own;
  }
  if (unit < 0) return shards[0];
  if (unit % p.rounds != 0)
    return invalid_argument(unit, " along dimension ", int{p.dim}, " for each element, in ", p.rounds, " rounds");
  Tensor all = Tensor::zeros(shards[0].dtype(), with_dim(shards[0].shape(), p.dim, unit * size));
  const View v = view_of(all.shape(), p, size);
  begin = 0;
  for (std::size_t s = 0; s < shards.size(); begin = ends[s++]) {
    const std::int64_t own = ends[s] - begin;
    for (std::int64_t o = 0; o < v.outer; ++o) {
      copy(shards[s], o * own * v.inner, all, (o * size + begin) * v.inner, own * v.inner);
    }
  }
  return all;
}

Result<Tensor> combine_partials(const std::vector<Tensor>& parts, Combine how, const std::vector<double>& weights) {
  const DType d = parts[0].dtype();
  const bool wide = is_floating(d);
  Tensor all;
  for (std::size_t s = 0; s < parts.size(); ++s) {
    if (!(parts[s].shape() == parts[0].shape()) || parts[s].dtype() != d) {
      return invalid_argument("part ", s, " has shape ", parts[s].shape(), ", part 0 ", parts[0].shape());
    }
    if (!weights.empty() && weights[s] == 0) continue;
    Tensor part = wide ? cast_to(parts[s], DType::kFloat64) : parts[s];
    if (!weights.empty()) {
      ARGOSY_RETURN_IF_ERROR(weighted(part, weights[s]));
    }
    if (!all.valid()) {
      all = Tensor::zeros(part.dtype(), part.shape());
      copy(part, 0, all, 0, part.elements());
      continue;
    }
    ARGOSY_RETURN_IF_ERROR(dispatch<NumberTypes>(
        part.dtype(), "combine", [&]<typename T>() { return combine_into<T>(all, part, how), ok_status(); }));
  }
  if (!all.valid()) return parts[0];
  return wide ? cast_to(all, d) : all;
}

std::vector<Tensor> split_partial(const Tensor& t, Combine how, int shards) {
  std::vector<Tensor> parts;
  for (int s = 0; s < shards; ++s) {
    parts.push_back(Tensor::zeros(t.dtype(), t.shape()));
    copy(t, 0, parts.back(), 0, t.elements());
  }
  const Status split = dispatch<NumberTypes>(t.dtype(), "split", [&]<typename T>() {
    for (std::int64_t i = 0; i < t.elements(); ++i) {
      const T whole = t.data<T>()[i];
      T rest = whole;
      for (int s = 1; s < shards; ++s) {
        T& own = parts[static_cast<std::size_t>(s)].data<T>()[i];
        const int turn = static_cast<int>((i + s) % 3);
        if (how == Combine::kSum) {
          if constexpr (std::is_integral_v<T>) {
            own = static_cast<T>(rest / 2 - (std::is_signed_v<T> ? turn : 0));
            rest = static_cast<T>(rest - own);
          } else {
            own = T(whole * T(0.375F) + T(0.25F * static_cast<float>(turn - 1)));
            rest = T(rest - own);
          }
        } else if constexpr (requires(T a) { a < a; }) {
          using Limits = std::numeric_limits<T>;
          const bool holds = static_cast<int>(i % shards) == s;
          const bool most = how == Combine::kMax;
          if (holds) continue;
          if (turn == 0) {
            own = Limits::has_infinity ? (most ? T(-Limits::infinity()) : Limits::infinity())
                  : most               ? Limits::lowest()
                                       : Limits::max();
          } else if (most ? Limits::lowest() < whole : whole < Limits::max()) {
            own = most ? T(whole - T(1)) : T(whole + T(1));
          }
        }
      }
      T& first = parts[0].data<T>()[i];
      if (how == Combine::kSum) first = rest;
      if constexpr (requires(T a) { a < a; }) {
        if (how != Combine::kSum && static_cast<int>(i % shards) != 0) {
          using Limits = std::numeric_limits<T>;
          if (how == Combine::kMax ? Limits::lowest() < whole : whole < Limits::max()) {
            first = how == Combine::kMax ? T(whole - T(1)) : T(whole + T(1));
          }
        }
      }
    }
    return ok_status();
  });
  static_cast<void>(split);  // what is no number stays as it is
  return parts;
}

}  // namespace argosy
