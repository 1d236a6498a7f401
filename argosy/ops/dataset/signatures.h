// The ops that make datasets, as data. Internal to the family.
#pragma once

#include <vector>

namespace argosy::datasets {

// Arguments and attributes are separated by "; "; "$types", "$shapes" and "$metadata" are those that most ops have.
struct Signature {
  const char* name;
  const char* doc;
  const char* inputs;
  const char* output;
  const char* attrs;
  bool stateful;
  bool opens_files = false;
};

const std::vector<Signature>& signatures();
const std::vector<Signature>& record_and_batch_signatures();

}  // namespace argosy::datasets
