// One device and several, measured in alternating rounds: how much faster the several are, how far the rounds lie apart, and whether
// the measurement says anything at all.
#pragma once

#include <string>
#include <vector>

#include "argosy/base/threads/core_use.h"

namespace argosy {

// Rates (samples/s, or whatever both sides count), a pair for each round.
struct InterleavedRates {
  std::vector<double> one, many;  // samples/s, round by round
  CoreUse use = {};               // of the cores that this process may run on, over all rounds
  double cores = 1;               // how many these are
  double seconds = 0;             // of all rounds
};

// The middle of several numbers, and between which they lie. Of five or more the lowest and the highest are left out.
struct Range {
  double low = 0, middle = 0, high = 0;                                     // of samples/s, or of speed-ups
  double spread() const { return middle > 0 ? (high - low) / middle : 0; }  // width over the middle; 0 of nothing
};
// The middle is the median; of five numbers and more the ends are left out.
Range range_of(std::vector<double> numbers);

// What rounds of one device and of all say.
struct Comparison {
  int rounds = 0;            // counted ones
  Range one, many;           // samples/s
  Range speedup;             // of the rounds' own ratios
  std::string not_measured;  // why nothing can be said; "" when it can
};

// What other programs must take of the cores to disturb a measurement: a quarter of a core, or a twentieth of all where
// that is more, while our threads wait for a core for a twentieth of the time. "" when they did not, else "other
// programs took 1.3 of 2 cores". The kernel counts in hundredths of a second: of a short time nothing is said.
std::string disturbed(const CoreUse& use, double cores, double seconds);

// `ideal`: what the devices could bring at most. Nothing can be said of fewer than three rounds, of cores that others
// took, of rounds that lie further apart than a third of their middle, or of a speed-up beyond `ideal` in (nearly) all
// rounds: the one device must have been held up then.
Comparison compare(const InterleavedRates& measured, double ideal, const char* one = "one device",
                   const char* many = "all devices");

}  // namespace argosy
