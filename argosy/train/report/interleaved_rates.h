// Compares the rates of one device and of several, measured in alternating rounds. Computes the speed-up and its
// spread, and decides whether the measurement is valid.
#pragma once

#include <string>
#include <vector>

#include "argosy/base/threads/core_use.h"

namespace argosy {

// Rates of each round (samples/s or another unit, the same on both sides).
struct InterleavedRates {
  std::vector<double> one, many;  // by round
  CoreUse use = {};               // of the cores that this process may run on, over all rounds
  double cores = 1;               // number of these cores
  double seconds = 0;             // of all rounds together
};

// The median and the range of several numbers. Of five or more, the lowest and the highest are left out.
struct Range {
  double low = 0, middle = 0, high = 0;                                     // of samples/s, or of speed-ups
  double spread() const { return middle > 0 ? (high - low) / middle : 0; }  // width over the middle; 0 of nothing
};
// Returns the median and the range of the numbers, without the ends of five or more; zeros if there are none.
Range range_of(std::vector<double> numbers);

// The result of compare().
struct Comparison {
  int rounds = 0;            // counted ones
  Range one, many;           // samples/s
  Range speedup;             // of the ratios of the rounds
  std::string not_measured;  // why there is no result; "": there is one
};

// Returns "" if other programs did not disturb a measurement, else "other programs took 1.3 of 2 cores". They disturbed
// it if both hold:
// - They took more than a quarter of a core, or a twentieth of all cores if that is more.
// - Our threads waited for a core for more than a twentieth of the time.
//
// The kernel counts in hundredths of a second. So less than 0.05 s of other programs never counts as a disturbance.
std::string disturbed(const CoreUse& use, double cores, double seconds);

// Compares the two rates. `ideal`: the greatest speed-up that the devices allow. There is no result (not_measured) if
// - there are fewer than three rounds;
// - other programs disturbed the measurement;
// - the rounds spread by more than a third of their median;
// - the speed-up is above 1.05 * ideal in (nearly) all rounds: something must have delayed the one device.
Comparison compare(const InterleavedRates& measured, double ideal, const char* one = "one device",
                   const char* many = "all devices");

}  // namespace argosy
