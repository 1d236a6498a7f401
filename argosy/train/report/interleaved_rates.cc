#include "argosy/train/report/interleaved_rates.h"

#include <algorithm>
#include <cstdio>

#include "argosy/base/str.h"

namespace argosy {

namespace {

constexpr std::size_t kLeastRounds = 3;
constexpr double kWidest = 1.0 / 3;     // spread of rounds that still say something
constexpr double kAboveIdeal = 1.05;    // devices of one kind are not alike to the last per cent
constexpr double kLeastCounted = 0.05;  // seconds of others: five of the kernel's ticks
constexpr double kDelayed = 0.05;

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, value >= 100 ? "%.0f" : value >= 10 ? "%.1f" : "%.2f", value);
  return text;
}

constexpr const char* kApart = "rounds of the same work lie too far apart: ";

std::string apart(const std::string& who, const Range& r, const char* unit) {
  return str_cat(who, " ", number(r.low), unit, " to ", number(r.high), unit);
}

}  // namespace

Range range_of(std::vector<double> numbers) {
  if (numbers.empty()) return {};
  std::sort(numbers.begin(), numbers.end());
  const std::size_t left_out = numbers.size() >= 5 ? 1 : 0;
  return {
      .low = numbers[left_out], .middle = numbers[numbers.size() / 2], .high = numbers[numbers.size() - 1 - left_out]};
}

std::string disturbed(const CoreUse& use, double cores, double seconds) {
  if (use.others < std::max(0.25, 0.05 * cores) || use.others * seconds < kLeastCounted) return "";
  if (use.delayed < kDelayed) return "";
  return str_cat("other programs took ", number(use.others), " of ", cores, cores == 1 ? " core" : " cores");
}

Comparison compare(const InterleavedRates& measured, double ideal, const char* one, const char* many) {
  const std::size_t rounds = std::min(measured.one.size(), measured.many.size());
  Comparison c{.rounds = static_cast<int>(rounds), .one = range_of(measured.one), .many = range_of(measured.many)};
  std::vector<double> ratios;
  for (std::size_t i = 0; i < rounds; ++i) {
    if (measured.one[i] > 0) ratios.push_back(measured.many[i] / measured.one[i]);
  }
  c.speedup = range_of(ratios);
  if (ratios.size() < kLeastRounds) {
    c.not_measured = str_cat("only ", ratios.size(), " rounds of ", one, " and ", many, " were possible");
  } else if (std::string others = disturbed(measured.use, measured.cores, measured.seconds); !others.empty()) {
    c.not_measured = std::move(others);
  } else if (c.one.spread() > kWidest) {
    c.not_measured = apart(str_cat(kApart, one, " made"), c.one, "") + " a second";
  } else if (c.many.spread() > kWidest) {
    c.not_measured = apart(str_cat(kApart, many, " made"), c.many, "") + " a second";
  } else if (c.speedup.spread() > kWidest) {
    c.not_measured = apart(str_cat(kApart, "they say"), c.speedup, "x");
  } else if (c.speedup.low > kAboveIdeal * ideal) {
    c.not_measured = str_cat(apart("it contradicts itself: rounds say", c.speedup, "x"), ", and ", number(ideal),
                             "x is the most there can be: something held up ", one);
  }
  return c;
}

}  // namespace argosy
