// The functions of an imported graph: FunctionDefs by name, made into functions of ours when a node names them.
// Internal to argosy/tf. Not thread-safe.
//
//   node names f ──use──► queue ──convert_pending──► Graph::add_function, or an error that is kept: status(f)
//
// A function with attributes of its own (type parameters) becomes one function of ours per set of values. The gradient
// of a function (SymbolicGradient) is another function: the one that the library names, or one made by differentiation.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "argosy/graph/graph.h"

namespace tensorflow {
class AttrValue;
class FunctionDef;
class FunctionDefLibrary;
class NameAttrList;
class NodeDef;
}  // namespace tensorflow

namespace argosy::tf {

// Attributes that a function was given.
using AttrBindings = std::map<std::string, tensorflow::AttrValue, std::less<>>;

// What a function takes and gives, attributes resolved: what a node that calls it must fit.
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

class FunctionTable {
 public:
  // Functions of ours go to `graph`, which must stay where it is.
  explicit FunctionTable(Graph& graph);
  ~FunctionTable();
  FunctionTable(const FunctionTable&) = delete;
  FunctionTable& operator=(const FunctionTable&) = delete;

  // Checks a library that is to be added: INVALID_ARGUMENT when a function or gradient is there already and differs,
  // has no name, or has that of an op.
  Status check(const tensorflow::FunctionDefLibrary& library) const;
  // Takes it. REQUIRES: check() was OK. `producer`: the version of its graph.
  void add(const tensorflow::FunctionDefLibrary& library, int producer);

  // Null when there is none.
  const tensorflow::FunctionDef* find(std::string_view name) const;
  Result<FunctionSignature> signature(const tensorflow::FunctionDef& function, const AttrBindings& bindings) const;

  // The name in our graph of this function; it is made by the next convert_pending(). NOT_FOUND when there is none.
  // `chosen`: a step may get past it, so that its body may have nodes of ops that do not exist.
  Result<std::string> use(const tensorflow::NameAttrList& function, bool chosen = false);
  // The same for its gradient: takes its inputs and what flows into its outputs, gives what flows into its inputs.
  Result<std::string> use_gradient(const tensorflow::NameAttrList& function);

  // Asks for every function that needs no attributes.
  void use_all();

  // Makes everything asked for, and what that asks for in turn.
  void convert_pending();
  // Did that work? Known after convert_pending(); OK for functions that nobody asked for here.
  const Status& status(std::string_view name) const;
  // Names in our graph of functions that could not be made since the last call.
  std::vector<std::string> take_failed() { return std::exchange(failed_, {}); }

  // Every FunctionDef, in the order they came; the GradientDefs as (function, gradient).
  const std::deque<tensorflow::FunctionDef>& all() const { return defs_; }
  const std::map<std::string, std::string, std::less<>>& gradients() const { return gradients_; }

 private:
  struct Entry;  // one function of ours
  Result<std::string> entry_for(const tensorflow::NameAttrList& function, bool gradient, bool chosen);
  // Has the function, or one that it names, a node whose op does not exist? Only then does it matter who may get past
  // it.
  bool lacks_ops(const std::string& function);
  Status convert_body(Entry& entry);
  Status differentiate(Entry& entry);
  void settle(Entry& entry);

  Graph& graph_;
  std::deque<tensorflow::FunctionDef> defs_;
  std::unordered_map<std::string_view, std::size_t> by_name_;
  std::unordered_map<std::string_view, int> producers_;
  std::unordered_map<std::string_view, std::uint64_t> fingerprints_;
  std::map<std::string, std::string, std::less<>> gradients_;

  std::deque<Entry> entries_;
  std::map<std::string, Entry*, std::less<>> by_key_;  // function and bindings
  std::unordered_map<std::string_view, Entry*> by_made_name_;
  std::unordered_map<std::string, bool> lacking_;  // what lacks_ops() found
  std::vector<Entry*> pending_;
  std::vector<std::string> failed_;
};

// The error of a function, as that of a node that names it.
Status in_function(std::string_view name, const Status& why);

// Names of the functions that an attribute value of ours refers to are appended.
void add_function_refs(const AttrMap& attrs, std::vector<std::string>& names);

}  // namespace argosy::tf
