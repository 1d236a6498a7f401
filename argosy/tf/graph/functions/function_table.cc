#include "argosy/tf/graph/functions/function_table.h"

#include <algorithm>

#include "argosy/base/threads/interrupt.h"
#include "argosy/formats/proto/graph.pb.h"
#include "argosy/graph/gradients.h"
#include "argosy/tf/graph/attr_proto.h"
#include "argosy/tf/graph/functions/function_entry.h"
#include "argosy/tf/graph/functions/function_import.h"

namespace argosy::tf {

namespace {

// Sets a pointer to null at the end of a scope, also after an exception.
struct Cleared {
  FunctionEntry*& pointer;
  ~Cleared() { pointer = nullptr; }
};

// Sets `bindings` to the value of each attribute of the function, and `key` to the function's name with these values.
Status bind(const tensorflow::FunctionDef& def, const tensorflow::NameAttrList& call, AttrBindings& bindings,
            tensorflow::NameAttrList& key) {
  key.set_name(call.name());
  for (const auto& attr : def.signature().attr()) {
    const auto given = call.attr().find(attr.name());
    if (given != call.attr().end()) {
      bindings[attr.name()] = given->second;
    } else if (attr.has_default_value()) {
      bindings[attr.name()] = attr.default_value();
    } else {
      return invalid_argument("function \"", call.name(), "\" needs its attribute ", attr.name())
          .with_id("ARG-IMPORT-011");
    }
    (*key.mutable_attr())[attr.name()] = bindings[attr.name()];
  }
  return ok_status();
}

}  // namespace

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
  AttrBindings bindings;
  ARGOSY_RETURN_IF_ERROR(bind(*def, function, bindings, key));
  chosen = chosen && library_.lacks_ops(function.name());
  const char* const kind = gradient ? "gradient " : chosen ? "branch " : "function ";
  const std::string bytes = canonical_bytes(key);
  const auto [known, fresh] =
      by_key_.try_emplace(kind + (bytes.size() > FunctionLimits::kMostAttributeBytes ? function.name() : bytes));
  if (!fresh) {
    const Entry& entry = *known->second;
    if (entry.settled && !entry.status.ok()) return in_function(entry.name, entry.status);
    return entry.name;
  }
  if (const Entry* one_too_many = limits_.one_too_many(); one_too_many != nullptr && !bindings.empty()) {
    by_key_.erase(known);
    return one_too_many->name;
  }
  entries_.emplace_back();
  Entry& entry = entries_.back();
  known->second = &entry;
  entry.def = def;
  entry.bindings = std::move(bindings);
  entry.producer = library_.producer(function.name());
  entry.gradient = gradient;
  entry.chosen = chosen;
  entry.caller = reading_;
  entry.nesting = reading_ == nullptr ? 0 : reading_->nesting + 1;
  // The name itself is for the function without attributes.
  entry.name = names_.unused(gradient ? function.name() + "_gradient" : function.name(), [&](const std::string& name) {
    return (library_.find(name) != nullptr && (gradient || !entry.bindings.empty())) || by_made_name_.contains(name) ||
           graph_.function(name) != nullptr;
  });
  by_made_name_.emplace(entry.name, &entry);
  pending_.push_back(&entry);
  entry.status = limits_.admit(entry, bytes.size());
  if (!entry.status.ok()) {
    entry.bindings.clear();  // they may be large
  } else if (gradient) {
    Entry* const around = std::exchange(reading_, &entry);
    auto forward = entry_for(function, false, false);
    reading_ = around;
    if (forward.ok()) {
      entry.forward = *std::move(forward);
      entry.calls.push_back(entry.forward);
    } else {
      entry.status = std::move(forward).status();
    }
  }
  return entry.name;
}

const Status& FunctionTable::status(std::string_view name) const {
  static const Status kOk;
  const auto found = by_made_name_.find(name);
  return found == by_made_name_.end() ? kOk : found->second->status;
}

void FunctionTable::convert_pending() {
  read_bodies();
  if (round_.empty()) return;
  for (Entry* entry : round_) settle_calls(*entry, by_made_name_);
  spread_failures(round_, by_made_name_);
  // Gradients, those of inner functions first. Whoever calls one that cannot be made cannot be differentiated either.
  for (Entry* entry : round_) {
    for (const std::string& callee : entry->calls) {
      if (entry->status.ok()) entry->status = status(callee);
    }
    if (!entry->gradient || entry->made || !entry->status.ok()) continue;
    check_interrupted();
    entry->status = differentiate(*entry);
    entry->made = entry->status.ok();
  }
  spread_failures(round_, by_made_name_);
  for (const Entry* entry : round_) {
    if (!entry->status.ok()) failed_.push_back(entry->name);
  }
  round_.clear();
}

// Reads the bodies of the pending functions. After an exception, those that were read stay read.
void FunctionTable::read_bodies() {
  const Cleared cleared{reading_};
  for (; next_pending_ < pending_.size(); ++next_pending_) {  // grows while bodies are read
    check_interrupted();
    Entry* const entry = reading_ = pending_[next_pending_];
    if (!entry->gradient && entry->status.ok()) {
      entry->status = convert_body(*entry);
      entry->made = entry->status.ok();
    }
    round_.push_back(entry);
  }
  pending_.clear();
  next_pending_ = 0;
}

Status FunctionTable::convert_body(Entry& entry) {
  ARGOSY_ASSIGN_OR_RETURN(const FunctionSignature shape, function_signature(*entry.def, entry.bindings));
  ARGOSY_ASSIGN_OR_RETURN(
      std::shared_ptr<Function> function,
      import_function(graph_.ops(), *entry.def, shape, entry.producer, {*this, &entry.bindings, entry.chosen}));
  function->name = entry.name;
  ARGOSY_RETURN_IF_ERROR(limits_.reserve(function->body.size(), function->name));
  for (const Node& node : function->body.nodes()) {
    add_function_refs(node.attrs, entry.calls);
  }
  graph_.add_function(std::move(function));
  return ok_status();
}

Status FunctionTable::differentiate(Entry& entry) {
  ARGOSY_RETURN_IF_ERROR(limits_.check_gradient(graph_, entry));
  // In a scratch graph: an error would stick to ours.
  Graph scratch(graph_.ops());
  for (const auto& [name, function] : graph_.functions()) scratch.add_function(function);
  ARGOSY_ASSIGN_OR_RETURN(const auto gradient, import_gradient(scratch, *graph_.function(entry.forward), entry.name));
  for (const auto& [name, function] : scratch.functions()) {
    if (graph_.function(name) != nullptr) continue;
    ARGOSY_RETURN_IF_ERROR(limits_.reserve(function->body.size(), name));
    graph_.add_function(function);
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
