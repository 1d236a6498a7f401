#include "fuzz/op_calls/draw_functions.h"

#include <algorithm>

namespace argosy::op_calls {

namespace {

using Types = std::vector<DType>;

Types types_of(const OpCall& call, const char* attr) {
  const auto* types = call.attrs.find_as<Types>(attr);
  return types != nullptr ? *types : Types();
}

void append(Types& to, const Types& more) { to.insert(to.end(), more.begin(), more.end()); }

struct Wanted {
  Types takes, gives;
};

Wanted wanted_of_dataset(const OpCall& call, const std::string& attr, const Common& common) {
  const std::string& op = call.op->name;
  const bool by_window = op.find("GroupByWindow") != op.npos, by_reducer = op.find("GroupByReducer") != op.npos;
  Wanted w;
  const Types state = types_of(call, "Tstate"), more = types_of(call, "Targuments");
  if (attr == "key_func") {
    w = {common.types, {DType::kInt64}};
    append(w.takes, types_of(call, "Tkey_func_other_arguments"));
  } else if (attr == "window_size_func") {
    w = {{DType::kInt64}, {DType::kInt64}};
    append(w.takes, types_of(call, "Twindow_size_func_other_arguments"));
  } else if (by_window) {
    w = {{DType::kInt64, DType::kVariant}, {DType::kVariant}};
    append(w.takes, types_of(call, "Treduce_func_other_arguments"));
  } else if (by_reducer) {
    if (attr == "init_func") w = {{DType::kInt64}, common.types};
    if (attr == "finalize_func") w = {common.types, types_of(call, "output_types")};
    if (attr == "reduce_func") {
      w = {common.types, common.types};
      append(w.takes, common.types);
    }
    append(w.takes, types_of(call, ("T" + attr + "_other_arguments").c_str()));
  } else if (op.find("Generator") != op.npos) {
    w = attr == "init_func"   ? Wanted{types_of(call, "Tinit_func_args"), {DType::kInt64}}
        : attr == "next_func" ? Wanted{{DType::kInt64}, types_of(call, "output_types")}
                              : Wanted{{DType::kInt64}, {DType::kInt64}};
    if (attr == "next_func") append(w.takes, types_of(call, "Tnext_func_args"));
    if (attr == "finalize_func") append(w.takes, types_of(call, "Tfinalize_func_args"));
  } else {
    w.takes = state;
    append(w.takes, common.types);
    append(w.takes, more);
    const bool makes_datasets = op.find("FlatMap") != op.npos || op.find("Interleave") != op.npos;
    w.gives = makes_datasets ? Types{DType::kVariant} : state;
    if (attr == "predicate") w.gives = {DType::kBool};
    if (!makes_datasets && attr != "predicate" && op.find("Reduce") == op.npos)
      append(w.gives, types_of(call, "output_types"));
  }
  return w;
}

Wanted wanted(const OpCall& call, const std::string& attr, const Common& common) {
  switch (call.op->calls) {
    case Calls::kIf:
    case Calls::kCase:
    case Calls::kCall:
    case Calls::kCallOn: return {types_of(call, "Tin"), types_of(call, "Tout")};
    case Calls::kWhile: return {types_of(call, "T"), attr == "cond" ? Types{DType::kBool} : types_of(call, "T")};
    case Calls::kNothing: break;
  }
  if (attr == "dataset_factory") return {{}, {DType::kVariant}};
  return wanted_of_dataset(call, attr, common);
}

CallFunction draw_function(const OpCall& call, const std::string& attr, const Common& common, RandomDraws& draws) {
  Wanted w = wanted(call, attr, common);
  const bool off = draws.one_in(common.mood == Mood::kHostile ? 3 : 25);
  if (off && draws.one_in(2)) w.takes.push_back(any_dtype(draws));
  if (off && draws.one_in(2) && !w.takes.empty())
    w.takes.erase(w.takes.begin() + draws.below(static_cast<int>(w.takes.size())));
  if (off && draws.one_in(3)) w.gives.push_back(any_dtype(draws));
  if (off && draws.one_in(3) && !w.gives.empty()) w.gives.pop_back();
  if (off && draws.one_in(3) && !w.gives.empty()) w.gives[0] = any_dtype(draws);
  CallFunction f{.attr = attr, .takes = w.takes, .gives = {}, .fails = draws.one_in(20), .recursive = draws.one_in(30)};
  for (const DType d : w.gives) {
    CallFunction::Return r;
    const auto same = std::find(w.takes.begin(), w.takes.end(), d);
    if (same != w.takes.end() && !draws.one_in(4)) r.parameter = static_cast<int>(same - w.takes.begin());
    r.constant = Tensor::zeros(d, draws.one_in(4) ? Shape({draws.below(4)}) : Shape());
    if (is_plain(d) || d == DType::kString) fill(r.constant, draws, common.mood, common.mood == Mood::kAlike ? 0 : 4);
    f.gives.push_back(std::move(r));
  }
  return f;
}

}  // namespace

void draw_functions(OpCall& call, const Common& common, RandomDraws& draws) {
  for (const AttrDef& def : call.op->attr_defs) {
    if (def.kind == AttrKind::kFunction) call.functions.push_back(draw_function(call, def.name, common, draws));
    if (def.kind != AttrKind::kFunctions) continue;
    const int hostile = common.mood == Mood::kHostile && draws.one_in(4) ? 0 : 1;
    for (int i = hostile + draws.below(3); i > 0; --i)
      call.functions.push_back(draw_function(call, def.name, common, draws));
  }
}

}  // namespace argosy::op_calls
