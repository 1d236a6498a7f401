// FunctionTable: FunctionDefs made into functions of ours when a node names them. Internal to argosy/tf. Not
// thread-safe.
//
//   node names f ──use()──► pending ──convert_pending()──► Graph::add_function, or an error that is kept: status(f)
//
// A function with attributes (type parameters) becomes one function of ours for each set of values. The gradient of a
// function (SymbolicGradient) is another function: the one that the library names, or one made by differentiation.
//
// A few bytes may ask for more functions than any memory holds. So there are limits (function_limits.h), and
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
  // Functions of ours go to `graph`, which must stay where it is.
  explicit FunctionTable(Graph& graph);
  ~FunctionTable();
  FunctionTable(const FunctionTable&) = delete;
  FunctionTable& operator=(const FunctionTable&) = delete;

  // The definitions. What is added there may be used from then on.
  FunctionLibrary& library() { return library_; }
  const FunctionLibrary& library() const { return library_; }

  // The name of this function in our graph; the next convert_pending() makes the function. NOT_FOUND when the library
  // has none. `chosen`: a step may not reach it, so its body may have nodes of ops that do not exist.
  Result<std::string> use(const tensorflow::NameAttrList& function, bool chosen = false);
  // The same for its gradient: a function of its inputs and the gradients of its outputs. It returns the gradients of
  // its inputs.
  Result<std::string> use_gradient(const tensorflow::NameAttrList& function);

  // Asks for every function that needs no attributes.
  void use_all();

  // Makes every function that was asked for, and those that their bodies ask for. May throw Interrupted: the next call
  // goes on from there.
  void convert_pending();
  // The error of a function that could not be made; OK before convert_pending(), and for functions not asked for.
  const Status& status(std::string_view name) const;
  // Names in our graph of functions that could not be made since the last call.
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
  std::vector<Entry*> pending_;  // their bodies have not been read, from next_pending_ on
  std::size_t next_pending_ = 0;
  std::vector<Entry*> round_;  // their bodies have; not settled yet
  Entry* reading_ = nullptr;   // whose body is being read
  std::vector<std::string> failed_;
};

// The error of a function, as the error of a node that names it.
Status in_function(std::string_view name, const Status& why);

// Appends the names of the functions that attributes of ours refer to.
void add_function_refs(const AttrMap& attrs, std::vector<std::string>& names);

}  // namespace argosy::tf
