#include "argosy/tf/graph/functions/function_table.h"

#include <algorithm>

#include "argosy/formats/proto/graph.pb.h"
#include "argosy/graph/gradients.h"
#include "argosy/tf/graph/attr_proto.h"
#include "argosy/tf/graph/functions/function_entry.h"
#include "argosy/tf/graph/functions/function_import.h"

namespace argosy::tf {

Status in_function(std::string_view name, const Status& why) {
  return Status(why.code(), str_cat("function \"", name, "\": ", why.message(),
                                    why.where().empty() ? "" : str_cat(" (", why.where(), ")")))
      .with_id(std::string(why.id()))
      .with_hint(why.hint());
}

FunctionTable::FunctionTable(Graph& graph) : graph_(graph), library_(graph.ops()) {}
FunctionTable::~FunctionTable() = default;

Result<std::string> FunctionTable::use(const tensorflow::NameAttrList& function, bool chosen) {
  return entry_for(function, false, chosen);
}

Result<std::string> FunctionTable::use_gradient(const tensorflow::NameAttrList& function) {
  if (const std::string* named = library_.gradient_of(function.name())) {
    tensorflow::NameAttrList gradient = function;
    gradient.set_name(*named);
    return entry_for(gradient, false, false);
  }
  return entry_for(function, true, false);
}

void FunctionTable::use_all() {
  for (const auto& def : library_.all()) {
    if (def.signature().attr_size() > 0) continue;
    tensorflow::NameAttrList function;
    function.set_name(def.signature().name());
    (void)use(function);
  }
}

Result<std::string> FunctionTable::entry_for(const tensorflow::NameAttrList& function, bool gradient, bool chosen) {
  const tensorflow::FunctionDef* def = library_.find(function.name());
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
  chosen = chosen && library_.lacks_ops(function.name());
  const char* const kind = gradient ? "gradient " : chosen ? "branch " : "function ";
  const auto [known, fresh] = by_key_.try_emplace(kind + canonical_bytes(key), nullptr);
  if (!fresh) {
    const Entry& entry = *known->second;
    if (entry.settled && !entry.status.ok()) return in_function(entry.name, entry.status);
    return entry.name;
  }
  entries_.emplace_back();
  Entry& entry = entries_.back();
  entry.def = def;
  entry.bindings = std::move(bindings);
  entry.producer = library_.producer(function.name());
  entry.gradient = gradient;
  entry.chosen = chosen;
  std::string base = gradient ? function.name() + "_gradient" : function.name();
  entry.name = base;
  // The name itself is for the function without attributes.
  for (int n = 1; (library_.find(entry.name) != nullptr && (gradient || !entry.bindings.empty())) ||
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
  for (Entry* entry : round) settle_calls(*entry, by_made_name_);
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
  // A function that calls a failed one fails, too: inner functions first.
  std::sort(round.begin(), round.end(), [](const Entry* a, const Entry* b) { return a->depth < b->depth; });
  for (Entry* entry : round) {
    for (const std::string& callee : entry->calls) {
      if (entry->status.ok() && !status(callee).ok()) entry->status = status(callee);
    }
    if (!entry->status.ok()) failed_.push_back(entry->name);
  }
}

Status FunctionTable::convert_body(Entry& entry) {
  ARGOSY_ASSIGN_OR_RETURN(const FunctionSignature shape, function_signature(*entry.def, entry.bindings));
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
  // In a scratch graph: an error would stick to ours.
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
