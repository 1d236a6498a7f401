// StrategySpec: the value of `--strategy`, parsed.
//
//   dp                    data parallelism over all devices; the default
//   dp=2                  over two devices
//   dp,accumulate=4       four micro-batches per device and step, one update
//   dp,zero=1             slots of the optimizer are sharded over the devices
//   auto                  the fastest that fits, among these
//   @FILE                 a strategy that `argosy plan --save FILE` wrote
#pragma once

#include <string>
#include <string_view>

#include "argosy/base/status.h"

namespace argosy {

struct StrategySpec {
  int dp = 0;              // devices along the data axis; 0: all
  int accumulate = 1;      // micro-batches per device and step
  int zero = 0;            // 0, 1
  bool automatic = false;  // "auto": the other fields are free
  std::string file = {};   // "@FILE": read by `argosy train` and `argosy plan`; not empty: the other fields are free

  // Parses the text. INVALID_ARGUMENT ARG-SHARD-001 says what is wrong, and what to type:
  // - a key is unknown (the hint names the nearest one), or is given twice;
  // - a value is not a number, or is out of range.
  static Result<StrategySpec> parse(std::string_view text);
  // The text that parse() reads: "dp,zero=1".
  std::string to_string() const;
  // INVALID_ARGUMENT ARG-SHARD-002: dp is not the number of devices.
  Status check(int devices) const;
  // Returns "" if a batch has at least as many examples as micro-batches. Else says how many are empty, and what to
  // type instead. Such a step is correct, but waits for turns that compute nothing.
  std::string empty_micro_batches(int devices, std::int64_t batch) const;

  friend bool operator==(const StrategySpec&, const StrategySpec&) = default;
};

}  // namespace argosy
