// Signatures of the ops that make datasets, as tables. Internal to the family.
#pragma once

#include <vector>

namespace argosy::datasets {

// An op. Arguments and attributes are separated by "; ". "$types", "$shapes" and "$metadata" stand for attributes that
// most of the ops have.
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
