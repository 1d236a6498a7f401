// FunctionTable: converts FunctionDefs to functions of our graph, on demand, when a node names them. Internal to
// argosy/tf. Not thread-safe.
//
//   node names f ──use()──► pending ──convert_pending()──► Graph::add_function, or an error that is kept: status(f)
//
// A function with attributes (type parameters) becomes one function of ours for each set of values. The gradient of a
// function (SymbolicGradient) is another function: the one that the library names, or one made by differentiation.
//
// A few bytes can ask for more functions than any memory holds. So there are limits (function_limits.h), and
// convert_pending() tests check_interrupted() (argosy/base/threads/interrupt.h).
#pragma once

#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "argosy/graph/graph.h"
#include "argosy/tf/graph/functions/function_library.h"
#include "argosy/tf/graph/functions/function_limits.h"

namespace tensorflow {
class NameAttrList;
class NodeDef;
}  // namespace tensorflow

namespace argosy::tf {

struct FunctionEntry;

class FunctionTable {
 public:
  // Adds the functions to `graph`, which must outlive the table and must not be moved.
  explicit FunctionTable(Graph& graph);
  ~FunctionTable();
  FunctionTable(const FunctionTable&) = delete;
  FunctionTable& operator=(const FunctionTable&) = delete;

  // The definitions. Functions that are added there may be used from then on.
  FunctionLibrary& library() { return library_; }
  const FunctionLibrary& library() const { return library_; }

  // Returns the name of this function in our graph; the next convert_pending() makes the function. NOT_FOUND: the
  // library has no such function. INVALID_ARGUMENT: it needs an attribute that is not given. Else the error of its
  // earlier conversion. `chosen`: a step may skip its callers (they are in a branch), so its body may have nodes of
  // unknown ops.
  Result<std::string> use(const tensorflow::NameAttrList& function, bool chosen = false);
  // Likewise for the function's gradient, which maps its inputs and the gradients of its outputs to the gradients of
  // its inputs.
  Result<std::string> use_gradient(const tensorflow::NameAttrList& function);

  // Calls use() for every function without attributes.
  void use_all();

  // Makes every function that use() has named, and those that their bodies name. May throw Interrupted: the next call
  // continues from there.
  void convert_pending();
  // Returns the error of a function that could not be made. OK: it was made, is still pending, or was never named.
  // Those over a limit have their error from use() on.
  const Status& status(std::string_view name) const;
  // Returns and clears the names (in our graph) of the functions that could not be made since the last call.
  std::vector<std::string> take_failed() { return std::exchange(failed_, {}); }

 private:
  using Entry = FunctionEntry;
  Result<std::string> entry_for(const tensorflow::NameAttrList& function, bool gradient, bool chosen);
  void read_bodies();
  Status convert_body(Entry& entry);
  Status differentiate(Entry& entry);

  Graph& graph_;
  FunctionLibrary library_;
  std::deque<Entry> entries_;
  std::map<std::string, Entry*, std::less<>> by_key_;  // function and bindings
  std::unordered_map<std::string_view, Entry*> by_made_name_;
  FunctionLimits limits_;
  FunctionNames names_;
  std::vector<Entry*> pending_;  // entries whose bodies are not read yet, from next_pending_ on
  std::size_t next_pending_ = 0;
  std::vector<Entry*> round_;  // entries whose bodies are read; not settled yet
  Entry* reading_ = nullptr;   // the entry whose body is being read
  std::vector<std::string> failed_;
};

// Returns the error of a function, with the function's name, for a node that names it.
Status in_function(std::string_view name, const Status& why);

// Appends the names of the functions that attributes of ours refer to.
void add_function_refs(const AttrMap& attrs, std::vector<std::string>& names);

}  // namespace argosy::tf
