// tf.train.Example and SequenceExample, the usual payloads of TFRecord files, as plain structs. Pure functions.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "argosy/tensor/dtype.h"

namespace argosy::tf {

// One list of values of one kind.
struct Feature {
  DType dtype = DType::kInvalid;  // kString, kFloat32 or kInt64; kInvalid: no list is set
  std::vector<std::string> strings;
  std::vector<float> floats;
  std::vector<std::int64_t> ints;

  std::size_t size() const { return strings.size() + floats.size() + ints.size(); }
};
using Features = std::map<std::string, Feature, std::less<>>;

struct SequenceExample {
  Features context;
  std::map<std::string, std::vector<Feature>, std::less<>> lists;  // a feature per time step
};

// INVALID_ARGUMENT: the bytes are no such message.
Result<Features> parse_example(std::string_view bytes);
Result<SequenceExample> parse_sequence_example(std::string_view bytes);
// Deterministic: features are written in order of their names.
std::string serialize_example(const Features& features);
std::string serialize_sequence_example(const SequenceExample& example);

// The Example that JSON text describes, serialized. INVALID_ARGUMENT says what is wrong with the text.
Result<std::string> example_from_json(std::string_view json);

}  // namespace argosy::tf
