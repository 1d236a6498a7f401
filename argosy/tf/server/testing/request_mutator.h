// Mutants of protobuf messages that stay messages: fields are dropped, doubled, moved, given extreme values or other
// fields' contents, at any depth; lengths are right again afterwards, mostly. For tests and fuzzers.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>

namespace argosy::tf {

// One to a few changes. The same generator state gives the same mutant.
std::string mutate(std::string_view message, std::mt19937_64& random);

}  // namespace argosy::tf
