#include "fuzz/op_calls/draw_values.h"

#include <complex>
#include <limits>
#include <string>

namespace argosy::op_calls {

std::int64_t edge_int(RandomDraws& draws) {
  using Limits = std::numeric_limits<std::int64_t>;
  constexpr std::int64_t k31 = std::int64_t{1} << 31, k32 = std::int64_t{1} << 32;
  return draws.one_of<std::int64_t>({-1,
                                     0,
                                     1,
                                     2,
                                     3,
                                     7,
                                     64,
                                     -2,
                                     -7,
                                     255,
                                     256,
                                     1000,
                                     65536,
                                     k31 - 1,
                                     k31,
                                     k31 + 1,
                                     -k31,
                                     -k31 - 1,
                                     k32 - 1,
                                     k32,
                                     k32 + 1,
                                     -k32,
                                     1 << 20,
                                     1 << 24,
                                     k31 << 10,
                                     k31 << 20,
                                     k31 << 31,
                                     Limits::max(),
                                     Limits::max() - 1,
                                     Limits::min(),
                                     Limits::min() + 1});
}

double edge_float(RandomDraws& draws) {
  using Limits = std::numeric_limits<double>;
  return draws.one_of<double>({0,
                               -0.0,
                               1,
                               -1,
                               0.5,
                               1e-3,
                               1e4,
                               1e30,
                               -1e30,
                               1e-30,
                               1e-310,
                               3.4e38,
                               2147483648.0,
                               -2147483649.0,
                               9.3e18,
                               -9.3e18,
                               Limits::infinity(),
                               -Limits::infinity(),
                               Limits::quiet_NaN(),
                               Limits::denorm_min(),
                               Limits::max()});
}

std::string edge_string(RandomDraws& draws) {
  if (draws.one_in(12)) return std::string(static_cast<std::size_t>(1 << draws.below(14)), 'x');
  if (draws.one_in(6)) {
    std::string bytes(static_cast<std::size_t>(draws.below(24)), '\0');
    for (char& c : bytes) c = static_cast<char>(draws.bits());
    return bytes;
  }
  using namespace std::string_literals;
  return draws.one_of<std::string>({"",
                                    "a",
                                    "bc",
                                    "a b c",
                                    "1",
                                    "-1",
                                    "0",
                                    "2147483648",
                                    "-2147483649",
                                    "1e400",
                                    "nan",
                                    "inf",
                                    "0x1p-1",
                                    " 12 ",
                                    "1,2,3",
                                    "1,\"a",
                                    "a\nb\n",
                                    "%s%n",
                                    "\xff",
                                    "\xc3\x28",
                                    "\xf0\x9f\x92\xa9",
                                    "\xed\xa0\x80",
                                    "a\0b"s,
                                    "(",
                                    "[a-",
                                    "(?P<n>a)",
                                    "\\1",
                                    "a*",
                                    "../x",
                                    "file",
                                    "/",
                                    "s:0",
                                    "ij,jk->ik",
                                    "...",
                                    "SAME",
                                    "NHWC",
                                    "UTF-8",
                                    "{\"a\":1}",
                                    "=",
                                    "YWJj",
                                    "\x89PNG\r\n\x1a\n",
                                    "GIF89a\1\0\1\0"s,
                                    "BM"s,
                                    "\xff\xd8\xff",
                                    "RIFF\0\0\0\0WAVEfmt "s,
                                    "\x0a\x04\x0a\x02\x08\x01",
                                    "99999999999999999999"});
}

std::int64_t draw_int(RandomDraws& draws, Mood mood) {
  if (mood == Mood::kHostile && draws.one_in(2)) return edge_int(draws);
  if (mood == Mood::kMixed && draws.one_in(12)) return edge_int(draws);
  return draws.one_in(6) ? -1 : draws.below(4);
}

namespace {

template <typename T>
T number(double x) {
  if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
    return T(static_cast<typename T::value_type>(x), static_cast<typename T::value_type>(-x / 2));
  } else {
    return T(static_cast<float>(x));
  }
}
template <>
double number<double>(double x) {
  return x;
}

template <typename T>
void set_edge(T& v, RandomDraws& draws) {
  if constexpr (std::is_integral_v<T>) {
    v = draws.one_in(3) ? draws.one_of<T>({std::numeric_limits<T>::min(), std::numeric_limits<T>::max()})
                        : static_cast<T>(edge_int(draws));
  } else {
    v = number<T>(edge_float(draws));
  }
}

}  // namespace

void fill(const Tensor& t, RandomDraws& draws, Mood mood, int edges) {
  const auto at_edge = [&] { return edges > 0 && draws.one_in(edges); };
  if (t.dtype() == DType::kString) {
    for (std::string& s : t.values<std::string>())
      s = at_edge() || draws.one_in(3) ? edge_string(draws) : draws.one_of<std::string>({"a", "b", "ab", "1"});
    return;
  }
  if (t.dtype() == DType::kBool) {
    for (bool& b : t.values<bool>()) b = draws.one_in(2);
    return;
  }
  const Status filled = dispatch<NumberTypes>(t.dtype(), "draw", [&]<typename T>() {
    for (T& v : t.values<T>()) {
      if (at_edge()) {
        set_edge(v, draws);
      } else if constexpr (std::is_integral_v<T>) {
        v = static_cast<T>(draw_int(draws, mood));
      } else {
        v = number<T>(4 * draws.unit() - 2);
      }
    }
    return ok_status();
  });
  if (filled.ok() || !is_plain(t.dtype())) return;
  for (std::size_t i = 0; i < t.bytes(); ++i) t.raw_as<unsigned char>()[i] = static_cast<unsigned char>(draws.bits());
}

void spoil(const Tensor& t, RandomDraws& draws) {
  if (t.elements() == 0) return;
  const auto i = static_cast<std::size_t>(draws.bits() % static_cast<std::uint64_t>(t.elements()));
  if (t.dtype() == DType::kString) {
    t.data<std::string>()[i] = edge_string(draws);
  } else if (is_plain(t.dtype()) && t.dtype() != DType::kBool) {
    const Status done = dispatch<NumberTypes>(t.dtype(), "spoil", [&]<typename T>() {
      set_edge(t.data<T>()[i], draws);
      return ok_status();
    });
    static_cast<void>(done);  // quantised elements stay
  }
}

}  // namespace argosy::op_calls
