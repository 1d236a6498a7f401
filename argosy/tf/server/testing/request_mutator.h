// Mutates protobuf messages so that they mostly stay valid: fields are dropped, doubled, moved, given extreme values or
// other fields' contents, at any depth, and lengths are updated. For tests and fuzzers.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>

namespace argosy::tf {

// Returns the message with one or a few changes. Deterministic for a given state of the generator.
std::string mutate(std::string_view message, std::mt19937_64& random);

}  // namespace argosy::tf
