#include "argosy/ops/shape/shape_sharding.h"

#include <algorithm>
#include <numeric>

#include "argosy/ops/sharding_parts.h"

namespace argosy {

namespace {

// Stands for the one size that is not known, or for what it is a multiple of: a prime beyond every size.
constexpr std::int64_t kStandIn = 2147483647;

// Sizes with the one that is not known as a multiple of kStandIn. False: they cannot be compared.
bool fill_in(std::vector<std::int64_t>& x, std::vector<std::int64_t>& y) {
  const auto open = [](const std::vector<std::int64_t>& s) {
    return std::count_if(s.begin(), s.end(), [](auto v) { return v < 0; });
  };
  const auto product = [](const std::vector<std::int64_t>& s) {
    std::int64_t p = 1;
    for (const std::int64_t v : s) p = v < 0 || p > kStandIn ? p : p * v;
    return p;
  };
  const auto set = [](std::vector<std::int64_t>& s, std::int64_t v) {
    *std::find_if(s.begin(), s.end(), [](auto k) { return k < 0; }) = v;
  };
  if (open(x) > 1 || open(y) > 1 || std::count(x.begin(), x.end(), 0) + std::count(y.begin(), y.end(), 0) > 0)
    return false;
  const std::int64_t px = product(x), py = product(y);
  if (px > kStandIn || py > kStandIn) return open(x) == 0 && open(y) == 0;
  if (open(x) == 1 && open(y) == 1) {
    if (py % px == 0) {
      set(x, kStandIn * (py / px));
      set(y, kStandIn);
    } else if (px % py == 0) {
      set(x, kStandIn);
      set(y, kStandIn * (px / py));
    } else {
      return false;
    }
  } else if (open(x) == 1) {
    if (py % px != 0) return false;
    set(x, py / px);
  } else if (open(y) == 1) {
    if (px % py != 0) return false;
    set(y, px / py);
  } else {
    return px == py;
  }
  return true;
}

class CommonFactors {
 public:
  CommonFactors(std::vector<std::int64_t> x, std::vector<std::int64_t> y)
      : x_(std::move(x)), y_(std::move(y)), rx_(x_), ry_(y_), fx_(x_.size()), fy_(y_.size()) {}

  // Peels common factors off the outside of both, as long as there are any; what mixes belongs to factors of its own.
  bool find() {
    while (true) {
      while (i_ < rx_.size() && rx_[i_] == 1) ++i_;
      while (j_ < ry_.size() && ry_[j_] == 1) ++j_;
      if (i_ == rx_.size() || j_ == ry_.size()) break;
      const std::int64_t g = std::gcd(rx_[i_], ry_[j_]);
      if (g == 1) {
        if (!mix()) return false;
        continue;
      }
      factors_.push_back({str_cat("f", factors_.size()), g >= kStandIn ? -1 : g});
      fx_[i_].push_back(static_cast<std::int8_t>(factors_.size() - 1));
      fy_[j_].push_back(static_cast<std::int8_t>(factors_.size() - 1));
      rx_[i_] /= g;
      ry_[j_] /= g;
      if (factors_.size() > 60) return false;
    }
    // Dimensions of size 1 have factors of their own size where both have them in the same place.
    return i_ == rx_.size() && j_ == ry_.size();
  }

  ShardingRule rule() && {
    return {.kind = ShardingRule::Kind::kFactors,
            .factors = std::move(factors_),
            .inputs = {{.kind = OperandRule::Kind::kDims, .dims = std::move(fx_)},
                       {.kind = OperandRule::Kind::kSizes, .dims = fy_, .of = 0}},
            .outputs = {{.kind = OperandRule::Kind::kDims, .dims = fy_}}};
  }

 private:
  // The dimensions up to where both hold the same number of elements again.
  bool mix() {
    std::int64_t px = rx_[i_], py = ry_[j_];
    whole(fx_[i_], rx_[i_]);
    whole(fy_[j_], ry_[j_]);
    rx_[i_] = ry_[j_] = 1;
    while (px != py) {
      const bool more_x = px < py;
      auto& at = more_x ? i_ : j_;
      auto& rest = more_x ? rx_ : ry_;
      auto& product = more_x ? px : py;
      if (++at == rest.size()) return false;
      if (rest[at] > 1) whole((more_x ? fx_ : fy_)[at], rest[at]);
      if (__builtin_mul_overflow(product, rest[at], &product)) return false;
      rest[at] = 1;
    }
    return true;
  }
  void whole(FactorsOfDim& dim, std::int64_t size) {
    factors_.push_back({str_cat("f", factors_.size()), size >= kStandIn ? -1 : size, FactorRole::kWhole});
    dim.push_back(static_cast<std::int8_t>(factors_.size() - 1));
  }

  const std::vector<std::int64_t> x_, y_;
  std::vector<std::int64_t> rx_, ry_;  // what is left of the sizes
  std::vector<FactorsOfDim> fx_, fy_;
  std::vector<Factor> factors_;
  std::size_t i_ = 0, j_ = 0;
};

}  // namespace

Result<ShardingRule> reshape_sharding(const ShapeContext& c) {
  std::vector<std::int64_t> x = c.input(0).sizes(), y = c.output(0).sizes();
  if (!fill_in(x, y)) return whole_because("its sizes are not known, or 0");
  CommonFactors common(std::move(x), std::move(y));
  if (!common.find()) return whole_because("its sizes do not fit");
  ShardingRule rule = std::move(common).rule();
  const DType d = c.input_dtype(0);
  if (is_floating(d) || is_integer(d) || is_complex(d)) rule.linear = {{0}};
  if (is_floating(d) || is_integer(d)) rule.monotone = {0};
  return rule;
}

Result<ShardingRule> squeeze_sharding(const ShapeContext& c) {
  const int rank = c.input(0).rank();
  const auto& dims = c.attrs().get<std::vector<std::int64_t>>("squeeze_dims");
  if (dims.empty()) return whole_because("it takes every dimension of size 1 away, and a shard's may be of size 1");
  const DimNames x = dim_names(rank);
  std::vector<bool> gone(x.size());
  for (const std::int64_t d : dims) {
    const auto axis = axis_within(d, rank);
    if (!axis) return whole_because("its axes are out of range");
    gone[static_cast<std::size_t>(*axis)] = true;
  }
  DimNames from, to;
  for (std::size_t d = 0; d < x.size(); ++d) {
    from.push_back(gone[d] ? "1" : x[d]);
    if (!gone[d]) to.push_back(x[d]);
  }
  return sharding_rule_from_text(joined(from) + " -> " + joined(to) + "; linear 0; monotone 0", c);
}

Result<ShardingRule> expand_dims_sharding(const ShapeContext& c) {
  const auto axis = axis_within(c.input_as_int(1), c.output(0).rank());
  if (!axis) return whole_because("its axis is not known");
  const DimNames x = dim_names(c.input(0).rank());
  DimNames y = x;
  y.insert(y.begin() + *axis, "1");
  return sharding_rule_from_text(joined(x) + ", . -> " + joined(y) + "; linear 0; monotone 0", c);
}

Result<ShardingRule> ensure_shape_sharding(const ShapeContext& c) {
  const auto& demanded = c.attrs().get<PartialShape>("shape");
  DimNames names = dim_names(c.input(0).rank());
  if (demanded.has_rank() && demanded.rank() != c.input(0).rank()) return whole_because("its shape does not fit");
  for (int d = 0; demanded.has_rank() && d < demanded.rank(); ++d) {
    if (demanded[d] >= 0) names[static_cast<std::size_t>(d)] = "1";
  }
  return sharding_rule_from_text(joined(names) + " -> " + joined(names) + "; linear 0", c);
}

}  // namespace argosy
