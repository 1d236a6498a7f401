// FunctionLibrary: the FunctionDefs and GradientDefs of an imported graph, by name. Internal to argosy/tf. Not
// thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "argosy/op/definition/registry.h"

namespace google::protobuf {
class MessageLite;
}  // namespace google::protobuf

namespace tensorflow {
class AttrValue;
class FunctionDef;
class FunctionDefLibrary;
}  // namespace tensorflow

namespace argosy::tf {

// The attributes that a call gives a function.
using AttrBindings = std::map<std::string, tensorflow::AttrValue, std::less<>>;

// The parameters and results of a function, with its attributes resolved to dtypes. Calls must agree with it.
struct FunctionSignature {
  struct Arg {
    std::string name;
    std::vector<DType> dtypes;
    bool is_list = false;
    bool is_ref = false;
  };
  std::vector<Arg> inputs, outputs;
  bool is_stateful = false;
};

// INVALID_ARGUMENT (ARG-IMPORT-011): an attribute of the function is missing from `bindings`, or of another kind.
Result<FunctionSignature> function_signature(const tensorflow::FunctionDef& function, const AttrBindings& bindings);

class FunctionLibrary {
 public:
  // `ops` outlives it: a function may not have the name of an op.
  explicit FunctionLibrary(const OpRegistry& ops);
  ~FunctionLibrary();
  FunctionLibrary(const FunctionLibrary&) = delete;
  FunctionLibrary& operator=(const FunctionLibrary&) = delete;

  // INVALID_ARGUMENT (ARG-IMPORT-010): a function has no name, or an op's; a function or gradient exists already and
  // differs.
  Status check(const tensorflow::FunctionDefLibrary& library) const;
  // Adds a library. REQUIRES: check() was OK. `producer`: the producer version of its GraphDef.
  void add(const tensorflow::FunctionDefLibrary& library, int producer);

  // Null when there is none. The pointer stays valid.
  const tensorflow::FunctionDef* find(std::string_view name) const;
  // Returns the producer version of the GraphDef that had the function. REQUIRES: find(name) is not null.
  int producer(std::string_view name) const { return producers_.find(name)->second; }
  // Returns the name of the gradient function of `function` (GradientDef); null: the library has none.
  const std::string* gradient_of(std::string_view function) const;
  // True if the function, or one that it reaches by names, has a node whose op is neither registered nor a function.
  bool lacks_ops(const std::string& function);

  // All FunctionDefs, in the order in which they were added; all GradientDefs as (function, gradient).
  const std::deque<tensorflow::FunctionDef>& all() const { return defs_; }
  const std::map<std::string, std::string, std::less<>>& gradients() const { return gradients_; }

 private:
  const OpRegistry& ops_;
  std::deque<tensorflow::FunctionDef> defs_;  // a deque: keys below are views of its names
  std::unordered_map<std::string_view, std::size_t> by_name_;
  std::unordered_map<std::string_view, int> producers_;
  std::unordered_map<std::string_view, std::uint64_t> fingerprints_;
  std::map<std::string, std::string, std::less<>> gradients_;
  std::unordered_map<std::string, bool> lacking_;  // results of lacks_ops()
};

// Serialises deterministically: equal messages give equal bytes, because map entries are written in order.
std::string canonical_bytes(const google::protobuf::MessageLite& message);

}  // namespace argosy::tf
