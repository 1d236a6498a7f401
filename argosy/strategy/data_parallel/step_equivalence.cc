#include "argosy/strategy/data_parallel/step_equivalence.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdio>
#include <optional>

namespace argosy {

namespace {

// For a floating dtype: the unit in the last place of 1, and the relative difference allowed between equivalent sums.
struct Rounding {
  double unit = 0, relative = 0;
};
Rounding rounding_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
    case DType::kComplex128: return {0x1p-52, 1e-10};
    case DType::kFloat16: return {0x1p-10, 1e-2};
    case DType::kBfloat16: return {0x1p-7, 3e-2};
    default: return {0x1p-23, 1e-4};
  }
}

constexpr double kPerturbation = 32;   // units in the last place: a ReLU may flip, as it may where sums come apart
constexpr double kNoise = 8;           // times the largest distance of perturbed runs
constexpr double kUnits = 4;           // in the last place of a variable
constexpr std::int64_t kElements = 4;  // times as many integers as differ by noise

// Returns the elements as doubles; a complex element becomes two. nullopt: not a floating dtype.
std::optional<std::vector<double>> numbers(const Tensor& t) {
  std::vector<double> all;
  if (is_complex(t.dtype())) {
    const auto add = [&](auto span) {
      for (const auto& z : span) all.insert(all.end(), {static_cast<double>(z.real()), static_cast<double>(z.imag())});
    };
    t.dtype() == DType::kComplex64 ? add(t.values<std::complex<float>>()) : add(t.values<std::complex<double>>());
    return all;
  }
  const Status known = dispatch<FloatTypes>(t.dtype(), "compare", [&]<typename T>() {
    for (const T& x : t.values<T>()) all.push_back(static_cast<double>(x));
    return ok_status();
  });
  return known.ok() ? std::optional(std::move(all)) : std::nullopt;
}

double largest(const std::vector<double>& x) {
  double m = 0;
  for (const double v : x) {
    if (std::isfinite(v)) m = std::max(m, std::abs(v));
  }
  return m;
}

double farthest(const std::vector<double>& a, const std::vector<double>& b) {
  double m = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isfinite(a[i]) && std::isfinite(b[i])) m = std::max(m, std::abs(a[i] - b[i]));
  }
  return m;
}

std::vector<double> minus(std::vector<double> a, const Tensor& before) {
  if (!before.valid()) return a;
  const auto b = numbers(before);
  if (!b || b->size() != a.size()) return a;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isfinite(a[i])) a[i] -= (*b)[i];
  }
  return a;
}

// "element 2 of float32[3] "; "" if the tensor has one element.
std::string place(const Tensor& t, std::int64_t at) {
  return t.elements() == 1 ? "" : str_cat("element ", at, " of ", dtype_name(t.dtype()), t.shape(), " ");
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

bool same_kind(const Tensor& a, const Tensor& b) {
  return a.valid() && b.valid() && a.dtype() == b.dtype() && a.shape() == b.shape();
}

// The difference that is allowed between a value and one device's.
struct Allowance {
  std::vector<double> one_device;  // of a variable its update
  double scale = 0, allowed = 0;
};
std::optional<Allowance> allowance(const StepValue& v, DType computed_in) {
  const auto one = numbers(v.one_device);
  if (!one) return std::nullopt;
  const Rounding r = rounding_of(coarser(computed_in, v.one_device.dtype()));
  Allowance a{.one_device = minus(*one, v.before)};
  a.scale = largest(a.one_device);
  a.allowed = r.relative * a.scale + kNoise * v.noise;
  if (v.before.valid()) a.allowed += kUnits * rounding_of(v.one_device.dtype()).unit * largest(*one);
  return a;
}

template <typename T>
std::int64_t unequal(const Tensor& a, const Tensor& b, std::int64_t* first) {
  std::int64_t count = 0;
  const auto x = a.values<T>(), y = b.values<T>();
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] == y[i]) continue;
    if (count++ == 0 && first != nullptr) *first = static_cast<std::int64_t>(i);
  }
  return count;
}

template <typename T>
std::string shown(const T& value) {
  if constexpr (std::is_same_v<T, std::string>) {
    return str_cat("\"", value.substr(0, 40), "\"");
  } else if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else {
    return str_cat(+value);
  }
}

using Exact = TypeList<std::int32_t, std::int64_t, std::uint8_t, std::int8_t, std::int16_t, std::uint16_t,
                       std::uint32_t, std::uint64_t, bool, std::string>;

std::string exactly(const StepValue& v) {
  std::string text;
  (void)dispatch<Exact>(v.one_device.dtype(), "compare", [&]<typename T>() {
    std::int64_t at = 0;
    const std::int64_t count = unequal<T>(v.one_device, v.replicated, &at);
    if (count > kElements * v.unequal) {
      text = str_cat(place(v.one_device, at), "is ", shown(v.replicated.values<T>()[static_cast<std::size_t>(at)]),
                     ", on one device ", shown(v.one_device.values<T>()[static_cast<std::size_t>(at)]), "; ", count,
                     " of ", v.one_device.elements(), " differ");
    }
    return ok_status();
  });
  return text;
}

}  // namespace

DType coarser(DType a, DType b) {
  const auto unit = [](DType d) { return is_floating(d) || is_complex(d) ? rounding_of(d).unit : 0.0; };
  return unit(b) > unit(a) ? b : a;
}

void add_noise(StepValue& v, const Tensor& after, const Tensor& before) {
  if (!same_kind(v.one_device, after)) return;
  if (const auto one = numbers(v.one_device)) {
    const std::vector<double> perturbed = minus(*numbers(after), v.before.valid() ? before : Tensor());
    v.noise = std::max(v.noise, farthest(minus(*one, v.before), perturbed));
    return;
  }
  (void)dispatch<Exact>(v.one_device.dtype(), "compare", [&]<typename T>() {
    v.unequal = std::max(v.unequal, unequal<T>(v.one_device, after, nullptr));
    return ok_status();
  });
}

std::string other_than_on_one_device(const StepValue& v, DType computed_in) {
  if (!v.one_device.valid() && !v.replicated.valid()) return "";
  if (!same_kind(v.one_device, v.replicated)) {
    const auto kind = [](const Tensor& t) { return t.valid() ? str_cat(dtype_name(t.dtype()), t.shape()) : "nothing"; };
    return str_cat("is ", kind(v.replicated), ", on one device ", kind(v.one_device));
  }
  const auto a = allowance(v, computed_in);
  if (!a) return exactly(v);
  const auto replicated = numbers(v.replicated), one = numbers(v.one_device);
  const std::vector<double> got = minus(*replicated, v.before);
  double worst = -1;
  std::size_t at = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const bool finite = std::isfinite(got[i]) && std::isfinite(a->one_device[i]);
    const bool alike = got[i] == a->one_device[i] || (std::isnan(got[i]) && std::isnan(a->one_device[i]));
    const double distance = alike ? 0 : finite ? std::abs(got[i] - a->one_device[i]) : HUGE_VAL;
    if (distance > worst) worst = distance, at = i;
  }
  if (worst <= a->allowed) return "";
  const std::size_t per_element = is_complex(v.one_device.dtype()) ? 2 : 1;
  const bool variable = v.before.valid();
  return str_cat(place(v.one_device, static_cast<std::int64_t>(at / per_element)), variable ? "changes by " : "is ",
                 number(got[at]), ", on one device ", variable ? "by " : "", number(a->one_device[at]),
                 "; rounding explains ", number(a->allowed));
}

double relative_difference(const StepValue& v) {
  if (!v.one_device.valid() && !v.replicated.valid()) return 0;
  if (!same_kind(v.one_device, v.replicated)) return HUGE_VAL;
  const auto one = numbers(v.one_device), replicated = numbers(v.replicated);
  if (!one) {
    std::int64_t count = 0;
    (void)dispatch<Exact>(v.one_device.dtype(), "compare", [&]<typename T>() {
      count = unequal<T>(v.one_device, v.replicated, nullptr);
      return ok_status();
    });
    return static_cast<double>(count) / static_cast<double>(std::max<std::int64_t>(v.one_device.elements(), 1));
  }
  for (std::size_t i = 0; i < one->size(); ++i) {
    const double a = (*one)[i], b = (*replicated)[i];
    const bool alike = a == b || (std::isnan(a) && std::isnan(b));
    if (!alike && !(std::isfinite(a) && std::isfinite(b))) return HUGE_VAL;
  }
  const double distance = farthest(*one, *replicated), scale = largest(minus(*one, v.before));
  return distance == 0 ? 0 : scale > 0 ? distance / scale : HUGE_VAL;
}

bool is_noise(const StepValue& v, DType computed_in) {
  const auto a = v.one_device.valid() ? allowance(v, computed_in) : std::nullopt;
  return a && a->scale > 0 && kNoise * v.noise >= a->scale;
}

Tensor perturbed(const Tensor& value, DType computed_in, int run) {
  Tensor copy = value.clone();
  const double last_place = rounding_of(coarser(computed_in, value.dtype())).unit;
  const double unit = last_place * (last_place < 1e-5 ? kPerturbation : 1);
  std::uint64_t state = 0x9e3779b97f4a7c15u * (2 * static_cast<std::uint64_t>(run) + 1);
  const auto factor = [&] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 63 != 0 ? 1 + unit : 1 - unit;
  };
  (void)dispatch<FloatTypes>(value.dtype(), "perturb", [&]<typename T>() {
    for (T& x : copy.values<T>()) x = static_cast<T>(static_cast<double>(x) * factor());
    return ok_status();
  });
  if (value.dtype() == DType::kComplex64) {
    for (auto& z : copy.values<std::complex<float>>()) z *= static_cast<float>(factor());
  }
  if (value.dtype() == DType::kComplex128) {
    for (auto& z : copy.values<std::complex<double>>()) z *= factor();
  }
  return copy;
}

}  // namespace argosy
