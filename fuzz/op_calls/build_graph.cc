#include "fuzz/op_calls/build_graph.h"

#include "argosy/graph/function_body.h"
#include "argosy/ops/constant/constant.h"

namespace argosy::op_calls {

Value CallGraphBuilder::add(const OpCall& call) {
  if (const auto found = made_.find(&call); found != made_.end()) return found->second;
  std::vector<Value> inputs;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const CallInput& in = call.inputs[i];
    if (in.same_as >= 0) {
      inputs.push_back(inputs[static_cast<std::size_t>(in.same_as)]);
    } else if (in.source != nullptr) {
      inputs.push_back(output(add(*in.source), in.output));
    } else {
      const bool ref = i < call.op->input_args.size() && call.op->input_args[i].is_ref;
      inputs.push_back(in.variable ? variable(in, ref) : plain(in.value));
    }
    if (!inputs.back().valid()) return {};
  }
  for (const auto& other : call.before) {
    // Refused or not, it must not take the whole graph with it.
    if (const Value done = add(*other); done.valid()) inputs.push_back(done.control());
  }
  AttrMap attrs = call.attrs;
  name_functions(call, attrs);
  return made_[&call] = graph_.add(call.op->name, inputs, attrs);
}

Value CallGraphBuilder::output(const Value& v, int index) {
  if (!v.valid()) return {};
  const auto outputs = static_cast<int>(v.graph().node(v.node()).output_dtypes.size());
  return index < outputs ? v.output(index) : Value();
}

Value CallGraphBuilder::plain(const Tensor& t) {
  if (!t.valid()) return {};
  const bool simple = is_plain(t.dtype()) || t.dtype() == DType::kString;
  if (simple && draws_.one_in(2)) return constant(graph_, t);
  const PartialShape shape = draws_.one_in(2) ? PartialShape(t.shape()) : PartialShape::unknown();
  const Value v = graph_.add("Placeholder", {}, {{"dtype", t.dtype()}, {"shape", shape}});
  feeds.emplace_back(v, t);
  return v;
}

Value CallGraphBuilder::variable(const CallInput& in, bool ref) {
  const PartialShape shape =
      in.value.valid() && draws_.one_in(2) ? PartialShape(in.value.shape()) : PartialShape::unknown();
  const Value v = graph_.add(ref ? "VariableV2" : "VarHandleOp", {}, {{"dtype", in.dtype}, {"shape", shape}});
  if (!v.valid() || !in.value.valid()) return v;
  const Value value = constant(graph_, in.value);
  const Value set =
      ref ? graph_.add("Assign", {v, value}, {{"validate_shape", false}}) : graph_.add("AssignVariableOp", {v, value});
  if (set.valid()) first.push_back(set.control());
  return v;
}

void CallGraphBuilder::name_functions(const OpCall& call, AttrMap& attrs) {
  std::map<std::string, std::vector<FunctionRef>> by_attr;
  for (const CallFunction& f : call.functions) by_attr[f.attr].push_back(FunctionRef{add_function(f)});
  for (const AttrDef& def : call.op->attr_defs) {
    if (def.kind == AttrKind::kFunctions) attrs.set(def.name, by_attr[def.name]);
    if (def.kind == AttrKind::kFunction && !by_attr[def.name].empty()) attrs.set(def.name, by_attr[def.name].front());
  }
}

std::string CallGraphBuilder::add_function(const CallFunction& f) {
  FunctionBody body(graph_, "f");
  std::vector<Value> parameters, gives;
  for (const DType d : f.takes) parameters.push_back(body.parameter(d, PartialShape::unknown()));
  if (f.fails)
    body.graph().add("Assert",
                     {constant(body.graph(), Tensor::scalar(false)), constant(body.graph(), Tensor::scalar("no"))});
  for (const auto& r : f.gives) gives.push_back(returned(body, r, parameters));
  if (f.recursive && !gives.empty() && gives[0].valid()) {
    std::vector<DType> types;
    for (const Value& v : gives) types.push_back(v.dtype());
    const Value again = body.graph().add("PartitionedCall", parameters,
                                         {{"Tin", f.takes}, {"Tout", types}, {"f", FunctionRef{body.name()}}});
    if (again.valid() && again.index() == 0) gives[0] = again;
  }
  body.finish(gives);
  return body.name();
}

Value CallGraphBuilder::returned(FunctionBody& body, const CallFunction::Return& r,
                                 const std::vector<Value>& parameters) {
  if (r.parameter >= 0 && static_cast<std::size_t>(r.parameter) < parameters.size())
    return parameters[static_cast<std::size_t>(r.parameter)];
  Graph& graph = body.graph();
  if (r.constant.dtype() != DType::kVariant && r.constant.dtype() != DType::kResource)
    return constant(graph, r.constant);
  if (r.constant.dtype() == DType::kResource)
    return graph.add("VarHandleOp", {}, {{"dtype", DType::kFloat32}, {"shape", PartialShape::unknown()}});
  const auto number = [&](std::int64_t x) { return constant(graph, Tensor::scalar(x)); };
  return graph.add("RangeDataset", {number(0), number(3), number(1)},
                   {{"output_types", std::vector<DType>{DType::kInt64}},
                    {"output_shapes", std::vector<PartialShape>{PartialShape::scalar()}}});
}

}  // namespace argosy::op_calls
