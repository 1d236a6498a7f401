#include "argosy/tf/graph/function_table.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <unordered_set>

#include "argosy/formats/proto/graph.pb.h"
#include "argosy/graph/gradients.h"
#include "argosy/tf/graph/attr_proto.h"
#include "argosy/tf/graph/function_import.h"

namespace argosy::tf {

namespace {

constexpr int kMostNested = 64;  // what lowering allows (argosy/passes/functions/lower_functions.h)

// The same bytes for equal messages: maps in order.
std::string canonical(const google::protobuf::MessageLite& message) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream out(&stream);
  out.SetSerializationDeterministic(true);
  message.SerializeWithCachedSizes((message.ByteSizeLong(), &out));
  out.Trim();
  return bytes;
}

std::uint64_t fingerprint(const tensorflow::FunctionDef& def) { return std::hash<std::string>()(canonical(def)); }

Status not_equal(std::string_view name) {
  return invalid_argument("Cannot add function '", name,
                          "' because a different function with the same name already exists.")
      .with_id("ARG-IMPORT-010");
}

}  // namespace

Status in_function(std::string_view name, const Status& why) {
  return Status(why.code(), str_cat("function \"", name, "\": ", why.message(),
                                    why.where().empty() ? "" : str_cat(" (", why.where(), ")")))
      .with_id(std::string(why.id()))
      .with_hint(why.hint());
}

struct FunctionTable::Entry {
  std::string name;  // in our graph
  const tensorflow::FunctionDef* def = nullptr;
  AttrBindings bindings;
  int producer = 0;
  bool gradient = false, chosen = false;
  std::string forward;             // of a gradient: the function it is of
  std::vector<std::string> calls;  // functions of ours that it names
  Status status;
  bool made = false, settled = false, on_path = false;
  int depth = 0;
};

FunctionTable::FunctionTable(Graph& graph) : graph_(graph) {}
FunctionTable::~FunctionTable() = default;

Status FunctionTable::check(const tensorflow::FunctionDefLibrary& library) const {
  std::map<std::string_view, std::uint64_t> seen;
  for (const auto& def : library.function()) {
    const std::string& name = def.signature().name();
    if (name.empty()) return invalid_argument("a function without a name").with_id("ARG-IMPORT-010");
    if (graph_.ops().find(name) != nullptr) {
      return invalid_argument("Cannot add function '", name, "' because an op with the same name already exists.")
          .with_id("ARG-IMPORT-010");
    }
    const std::uint64_t print = fingerprint(def);
    const auto [twin, fresh] = seen.emplace(name, print);
    if (!fresh && twin->second != print) return not_equal(name);
    const auto known = fingerprints_.find(name);
    if (known != fingerprints_.end() && known->second != print) return not_equal(name);
  }
  for (const auto& def : library.gradient()) {
    const auto known = gradients_.find(def.function_name());
    if (known != gradients_.end() && known->second != def.gradient_func()) {
      return invalid_argument("Cannot assign gradient function '", def.gradient_func(), "' to '", def.function_name(),
                              "' because it already has gradient function '", known->second, "'")
          .with_id("ARG-IMPORT-010");
    }
  }
  return ok_status();
}

void FunctionTable::add(const tensorflow::FunctionDefLibrary& library, int producer) {
  for (const auto& def : library.function()) {
    if (by_name_.contains(def.signature().name())) continue;
    defs_.push_back(def);
    const std::string& name = defs_.back().signature().name();
    by_name_.emplace(name, defs_.size() - 1);
    producers_.emplace(name, producer);
    fingerprints_.emplace(name, fingerprint(def));
  }
  for (const auto& def : library.gradient()) gradients_.emplace(def.function_name(), def.gradient_func());
}

const tensorflow::FunctionDef* FunctionTable::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &defs_[found->second];
}

Result<std::string> FunctionTable::use(const tensorflow::NameAttrList& function, bool chosen) {
  return entry_for(function, false, chosen);
}

Result<std::string> FunctionTable::use_gradient(const tensorflow::NameAttrList& function) {
  if (const auto named = gradients_.find(function.name()); named != gradients_.end()) {
    tensorflow::NameAttrList gradient = function;
    gradient.set_name(named->second);
    return entry_for(gradient, false, false);
  }
  return entry_for(function, true, false);
}

void FunctionTable::use_all() {
  for (const auto& def : defs_) {
    if (def.signature().attr_size() > 0) continue;
    tensorflow::NameAttrList function;
    function.set_name(def.signature().name());
    (void)use(function);
  }
}

bool FunctionTable::lacks_ops(const std::string& function) {
  std::vector<std::string> names = {function};  // it and all that it leads to
  std::unordered_set<std::string> seen(names.begin(), names.end());
  const auto name = [&](const std::string& other) {
    if (seen.insert(other).second) names.push_back(other);
  };
  const auto [known, fresh] = lacking_.try_emplace(function, false);
  if (!fresh) return known->second;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const tensorflow::FunctionDef* const def = find(names[i]);
    if (def == nullptr) continue;
    for (const auto& node : def->node_def()) {
      if (find(node.op()) != nullptr) {
        name(node.op());
      } else if (graph_.ops().find(node.op()) == nullptr) {
        return known->second = true;
      }
      for (const auto& [attr, value] : node.attr()) {
        if (value.has_func()) name(value.func().name());
        for (const auto& one : value.list().func()) name(one.name());
      }
    }
  }
  return false;
}

Result<std::string> FunctionTable::entry_for(const tensorflow::NameAttrList& function, bool gradient, bool chosen) {
  const tensorflow::FunctionDef* def = find(function.name());
  if (def == nullptr) {
    return not_found("there is no function \"", function.name(), "\" in the graph's library").with_id("ARG-FN-005");
  }
  tensorflow::NameAttrList key;
  key.set_name(function.name());
  AttrBindings bindings;
  for (const auto& attr : def->signature().attr()) {
    const auto given = function.attr().find(attr.name());
    if (given != function.attr().end()) {
      bindings[attr.name()] = given->second;
    } else if (attr.has_default_value()) {
      bindings[attr.name()] = attr.default_value();
    } else {
      return invalid_argument("function \"", function.name(), "\" needs its attribute ", attr.name())
          .with_id("ARG-IMPORT-011");
    }
    (*key.mutable_attr())[attr.name()] = bindings[attr.name()];
  }
  chosen = chosen && lacks_ops(function.name());
  const char* const kind = gradient ? "gradient " : chosen ? "branch " : "function ";
  const auto [known, fresh] = by_key_.try_emplace(kind + canonical(key), nullptr);
  if (!fresh) {
    const Entry& entry = *known->second;
    if (entry.settled && !entry.status.ok()) return in_function(entry.name, entry.status);
    return entry.name;
  }
  entries_.emplace_back();
  Entry& entry = entries_.back();
  entry.def = def;
  entry.bindings = std::move(bindings);
  entry.producer = producers_.find(function.name())->second;
  entry.gradient = gradient;
  entry.chosen = chosen;
  std::string base = gradient ? function.name() + "_gradient" : function.name();
  entry.name = base;
  // The name itself is for the function without attributes.
  for (int n = 1; (find(entry.name) != nullptr && (gradient || !entry.bindings.empty())) ||
                  by_made_name_.contains(entry.name) || graph_.function(entry.name) != nullptr;
       ++n) {
    entry.name = str_cat(base, "_", n);
  }
  by_made_name_.emplace(entry.name, &entry);
  known->second = &entry;
  if (gradient) {
    ARGOSY_ASSIGN_OR_RETURN(entry.forward, entry_for(function, false, false));
    entry.calls.push_back(entry.forward);
  }
  pending_.push_back(&entry);
  return entry.name;
}

const Status& FunctionTable::status(std::string_view name) const {
  static const Status kOk;
  const auto found = by_made_name_.find(name);
  return found == by_made_name_.end() ? kOk : found->second->status;
}

void FunctionTable::convert_pending() {
  if (pending_.empty()) return;
  std::vector<Entry*> round;
  for (std::size_t i = 0; i < pending_.size(); ++i) {  // grows while bodies are read
    Entry* const entry = pending_[i];
    round.push_back(entry);
    if (entry->gradient) continue;
    entry->status = convert_body(*entry);
    entry->made = entry->status.ok();
  }
  pending_.clear();
  for (Entry* entry : round) settle(*entry);
  // Gradients, those of inner functions first; what they are of has been checked above.
  std::vector<Entry*> open;
  std::copy_if(round.begin(), round.end(), std::back_inserter(open), [](const Entry* e) { return e->gradient; });
  std::sort(open.begin(), open.end(), [](const Entry* a, const Entry* b) { return a->depth < b->depth; });
  for (Entry* entry : open) {
    for (const std::string& callee : entry->calls) {
      if (entry->status.ok()) entry->status = status(callee);
    }
    if (entry->status.ok()) entry->status = differentiate(*entry);
    entry->made = entry->status.ok();
  }
  // Who calls what could not be made cannot be run either: inner functions first.
  std::sort(round.begin(), round.end(), [](const Entry* a, const Entry* b) { return a->depth < b->depth; });
  for (Entry* entry : round) {
    for (const std::string& callee : entry->calls) {
      if (entry->status.ok() && !status(callee).ok()) entry->status = status(callee);
    }
    if (!entry->status.ok()) failed_.push_back(entry->name);
  }
}

// Finds how deep the calls of a function go, and whether it calls itself; without recursion of ours.
void FunctionTable::settle(Entry& first) {
  std::vector<std::pair<Entry*, std::size_t>> path;
  const auto enter = [&](Entry& entry) {
    entry.on_path = true;
    path.emplace_back(&entry, 0);
  };
  if (!first.settled) enter(first);
  while (!path.empty()) {
    auto& [entry, at] = path.back();
    if (at < entry->calls.size()) {
      const auto found = by_made_name_.find(entry->calls[at++]);
      if (found == by_made_name_.end()) continue;
      Entry& callee = *found->second;
      if (callee.on_path && entry->status.ok()) {
        entry->status = invalid_argument("function \"", callee.def->signature().name(),
                                         callee.name == entry->name ? "\" calls itself" : "\" calls itself through \"",
                                         callee.name == entry->name ? "" : entry->def->signature().name() + "\"",
                                         ": recursive functions are not supported")
                            .with_id("ARG-FN-009")
                            .with_hint("write the recursion as a while loop");
      } else if (!callee.settled && !callee.on_path) {
        enter(callee);
      } else {
        entry->depth = std::max(entry->depth, callee.depth + 1);
      }
      continue;
    }
    Entry* const done = entry;
    done->settled = true;
    done->on_path = false;
    if (done->depth >= kMostNested && done->status.ok()) {
      done->status = invalid_argument("functions call each other more than ", kMostNested, " deep, \"",
                                      done->def->signature().name(), "\" among them")
                         .with_id("ARG-FN-008");
    }
    path.pop_back();
    if (!path.empty()) path.back().first->depth = std::max(path.back().first->depth, done->depth + 1);
  }
}

Status FunctionTable::convert_body(Entry& entry) {
  ARGOSY_ASSIGN_OR_RETURN(const FunctionSignature shape, signature(*entry.def, entry.bindings));
  ARGOSY_ASSIGN_OR_RETURN(
      std::shared_ptr<Function> function,
      import_function(graph_.ops(), *entry.def, shape, entry.producer, {*this, &entry.bindings, entry.chosen}));
  function->name = entry.name;
  for (const Node& node : function->body.nodes()) {
    add_function_refs(node.attrs, entry.calls);
  }
  graph_.add_function(std::move(function));
  return ok_status();
}

Status FunctionTable::differentiate(Entry& entry) {
  // In a graph of its own: an error would stick to it.
  Graph scratch(graph_.ops());
  for (const auto& [name, function] : graph_.functions()) scratch.add_function(function);
  ARGOSY_ASSIGN_OR_RETURN(const auto gradient, import_gradient(scratch, *graph_.function(entry.forward), entry.name));
  for (const auto& [name, function] : scratch.functions()) {
    if (graph_.function(name) == nullptr) graph_.add_function(function);
  }
  return ok_status();
}

void add_function_refs(const AttrMap& attrs, std::vector<std::string>& names) {
  for (const auto& [name, value] : attrs) {
    if (const auto* one = std::get_if<FunctionRef>(&value)) names.push_back(one->name);
    if (const auto* many = std::get_if<std::vector<FunctionRef>>(&value)) {
      for (const FunctionRef& ref : *many) names.push_back(ref.name);
    }
  }
}

}  // namespace argosy::tf
