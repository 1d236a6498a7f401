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

// The parameters and results of a function, attributes resolved. A node that calls it must fit.
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

  // INVALID_ARGUMENT (ARG-IMPORT-010): a function without a name, or with an op's; a function or gradient that exists
  // already and differs.
  Status check(const tensorflow::FunctionDefLibrary& library) const;
  // Adds a library. REQUIRES: check() was OK. `producer`: the version of its graph.
  void add(const tensorflow::FunctionDefLibrary& library, int producer);

  // Null when there is none. The pointer stays valid.
  const tensorflow::FunctionDef* find(std::string_view name) const;
  // The version of the graph that the function came with. REQUIRES: find(name) is not null.
  int producer(std::string_view name) const { return producers_.find(name)->second; }
  // The function that the library names as gradient of `function`; null when it names none.
  const std::string* gradient_of(std::string_view function) const;
  // Whether the function, or one that it names, has a node whose op is neither registered nor a function.
  bool lacks_ops(const std::string& function);

  // Every FunctionDef, in order of arrival; the GradientDefs as (function, gradient).
  const std::deque<tensorflow::FunctionDef>& all() const { return defs_; }
  const std::map<std::string, std::string, std::less<>>& gradients() const { return gradients_; }

 private:
  const OpRegistry& ops_;
  std::deque<tensorflow::FunctionDef> defs_;  // a deque: keys below are views of its names
  std::unordered_map<std::string_view, std::size_t> by_name_;
  std::unordered_map<std::string_view, int> producers_;
  std::unordered_map<std::string_view, std::uint64_t> fingerprints_;
  std::map<std::string, std::string, std::less<>> gradients_;
  std::unordered_map<std::string, bool> lacking_;  // what lacks_ops() found
};

// Equal bytes for equal messages: maps are written in order.
std::string canonical_bytes(const google::protobuf::MessageLite& message);

}  // namespace argosy::tf
