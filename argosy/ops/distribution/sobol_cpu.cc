// SobolSample: points that fill the unit cube evenly. Bratley and Fox, "Algorithm 659: implementing Sobol's quasirandom
// sequence generator" (1988), with the direction numbers of Joe and Kuo.
#include <array>
#include <bit>
#include <limits>
#include <vector>

#include "argosy/ops/attr_kernel.h"

namespace argosy {

namespace {

constexpr int kBits = 32;
constexpr int kMostDimensions = 1111;          // the polynomials of degree 13 and below
constexpr int kTensorFlowsDimensions = 21200;  // its table goes to degree 18
constexpr std::string_view kNumbers =
#include "argosy/ops/distribution/sobol_numbers.inc"
    ;

using Directions = std::array<std::uint32_t, kBits>;  // bit by bit of a point's number, as fractions of 2^32

// Polynomials over GF(2) as numbers: bit k is the coefficient of x^k.
std::uint32_t times(std::uint32_t a, std::uint32_t b, std::uint32_t modulus, int degree) {
  std::uint32_t product = 0;
  for (; b != 0; b >>= 1) {
    if (b & 1) product ^= a;
    a <<= 1;
    if (a >> degree & 1) a ^= modulus;
  }
  return product;
}
std::uint32_t power_of_x(std::uint32_t exponent, std::uint32_t modulus, int degree) {
  std::uint32_t result = 1, base = degree == 1 ? 1 : 2;
  for (; exponent != 0; exponent >>= 1) {
    if (exponent & 1) result = times(result, base, modulus, degree);
    base = times(base, base, modulus, degree);
  }
  return result;
}
// True if the order of x is exactly 2^degree - 1.
bool is_primitive(std::uint32_t p, int degree) {
  const std::uint32_t order = (1u << degree) - 1;
  if (power_of_x(order, p, degree) != 1) return false;
  std::uint32_t left = order;
  for (std::uint32_t q = 2; left > 1; ++q) {
    if (left % q != 0) continue;
    if (power_of_x(order / q, p, degree) == 1 && order / q != 0 && order > 1) return false;
    while (left % q == 0) left /= q;
  }
  return true;
}

class Bits {
 public:
  std::uint32_t next(int count) {
    std::uint32_t value = 0;
    for (int i = 0; i < count; ++i, ++at_) value |= bit() << i;
    return value;
  }

 private:
  std::uint32_t bit() const {
    constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    return static_cast<std::uint32_t>(kAlphabet.find(kNumbers[at_ / 6])) >> (at_ % 6) & 1;
  }
  std::size_t at_ = 0;
};

std::vector<Directions> directions_of(int dimensions) {
  std::vector<Directions> all;
  Directions first;
  for (int k = 0; k < kBits; ++k) first[static_cast<std::size_t>(k)] = 1u << (kBits - 1 - k);
  all.push_back(first);
  Bits bits;
  for (int degree = 1; static_cast<int>(all.size()) < dimensions; ++degree) {
    for (std::uint32_t p = (1u << degree) | 1; p < (2u << degree) && static_cast<int>(all.size()) < dimensions;
         p += 2) {
      if (!is_primitive(p, degree)) continue;
      Directions v{};
      const auto d = static_cast<std::size_t>(degree);
      for (std::size_t k = 0; k < kBits; ++k) {
        if (k < d) {
          v[k] = (bits.next(static_cast<int>(k)) << 1 | 1) << (kBits - 1 - k);
          continue;
        }
        v[k] = v[k - d] ^ (v[k - d] >> d);
        for (std::size_t i = 1; i < d; ++i) {
          if (p >> (d - i) & 1) v[k] ^= v[k - i];
        }
      }
      all.push_back(v);
    }
  }
  return all;
}

Status check(std::int32_t dim, std::int32_t results, std::int32_t skip) {
  constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max();
  if (dim < 1) return invalid_argument("dim must be at least one, not ", dim);
  if (dim > kTensorFlowsDimensions)
    return invalid_argument("dim must be at most ", kTensorFlowsDimensions, ", not ", dim);
  if (dim > kMostDimensions)
    return unimplemented("SobolSample: the direction numbers end with dimension ", kMostDimensions, "; dim is ", dim);
  if (results < 1) return invalid_argument("num_results must be at least one, not ", results);
  if (skip < 0) return invalid_argument("skip must be non-negative, not ", skip);
  if (results >= kMost - skip)
    return invalid_argument("num_results+skip must be less than ", kMost, "; they are ", results, " and ", skip);
  return ok_status();
}

Status sobol_sample(KernelContext& c) {
  constexpr const char* kNames[] = {"dim", "num_results", "skip"};
  std::int32_t values[3];
  for (int i = 0; i < 3; ++i) {
    if (c.input(i).shape().rank() != 0)
      return invalid_argument(kNames[i], " must be a scalar, not of shape ", c.input(i).shape());
    values[i] = *c.input(i).data<std::int32_t>();
  }
  const auto [dim, results, skip] = values;
  ARGOSY_RETURN_IF_ERROR(check(dim, results, skip));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, Shape({results, dim})));
  const std::vector<Directions> directions = directions_of(dim);
  // Point n is made of the directions of n's Gray code; that of n + 1 differs in one bit.
  std::vector<std::uint32_t> point(static_cast<std::size_t>(dim), 0);
  const auto turn = [&](int bit) {
    for (std::size_t j = 0; j < point.size(); ++j) point[j] ^= directions[j][static_cast<std::size_t>(bit)];
  };
  const auto before = static_cast<std::uint32_t>(skip);
  for (std::uint32_t gray = before ^ (before >> 1); gray != 0; gray &= gray - 1) turn(std::countr_zero(gray));
  return dispatch<TypeList<float, double>>(y->dtype(), c.node(), [&]<typename T>() {
    T* to = y->data<T>();
    for (std::int32_t i = 0; i < results; ++i) {
      turn(std::countr_one(before + static_cast<std::uint32_t>(i)));
      for (const std::uint32_t x : point) *to++ = static_cast<T>(x) * T(0x1p-32);
    }
    return ok_status();
  });
}

}  // namespace

void add_sobol(KernelRegistry& kernels) { kernels.add("SobolSample", "cpu", sobol_sample); }

}  // namespace argosy
