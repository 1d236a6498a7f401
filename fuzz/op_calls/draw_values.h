// Values for calls: ordinary ones, and those at the edges of what a dtype holds.
#pragma once

#include "argosy/tensor/tensor.h"
#include "fuzz/op_calls/random_draws.h"

namespace argosy::op_calls {

// How unusual the values of a call are.
enum class Mood { kAlike, kMixed, kHostile };

std::int64_t edge_int(RandomDraws& draws);
double edge_float(RandomDraws& draws);
std::string edge_string(RandomDraws& draws);

// One integer of an index, a size, an axis or a count.
std::int64_t draw_int(RandomDraws& draws, Mood mood);
// Fills a tensor whose memory is its own; `edges`: one element in so many is an edge value, 0: none.
void fill(const Tensor& t, RandomDraws& draws, Mood mood, int edges);
// Sets one element, drawn, to an edge value.
void spoil(const Tensor& t, RandomDraws& draws);

}  // namespace argosy::op_calls
