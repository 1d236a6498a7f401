// Turns: shards of a batch that one device computes one after another.
//
//   turn 0: forward, backward ─► gradient ─┐
//   turn 1: forward, backward ─► gradient ─┴► sum ─► update
//
// The strategy marks nodes with turns, and the compiler orders them: a device begins a turn when it has done all
// earlier ones (argosy/runtime/compile/order/schedule.h). Marks are hints: an order that dependencies forbid is not
// taken, so marks never close a cycle. A node without a mark belongs to the latest turn of its inputs. Passes keep
// turns apart: nodes of different turns are neither merged nor fused.
#pragma once

#include <algorithm>
#include <cstdint>

#include "argosy/op/definition/attr.h"

namespace argosy {

// On a node: the turn of its device that it belongs to, from 0.
inline constexpr const char* kTurnAttr = "_turn";
// On a node that adds a turn's result to the sum of earlier turns: that turn. It runs as early as possible, because it
// frees one of its two inputs.
inline constexpr const char* kTurnSumAttr = "_turn_sum";

struct Turn {
  std::int32_t number = -1;  // -1: not marked
  bool sum = false;

  static Turn of(const AttrMap& attrs) {
    if (const auto* turn = attrs.find_as<std::int64_t>(kTurnAttr)) return {clamped(*turn), false};
    if (const auto* turn = attrs.find_as<std::int64_t>(kTurnSumAttr)) return {clamped(*turn), true};
    return {};
  }
  friend bool operator==(const Turn&, const Turn&) = default;

 private:
  // Clamps the attribute to 0 … 2^31 - 1: a graph from outside may hold any number.
  static std::int32_t clamped(std::int64_t turn) {
    return static_cast<std::int32_t>(std::clamp<std::int64_t>(turn, 0, INT32_MAX));
  }
};

}  // namespace argosy
