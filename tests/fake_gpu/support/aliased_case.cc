#include "tests/fake_gpu/support/aliased_case.h"

#include <algorithm>
#include <cstring>

#include "argosy/ops/collective/collective.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/ops.h"
#include "argosy/runtime/session/session.h"
#include "argosy/testing/loop.h"
#include "argosy/testing/op_cases/op_case.h"
#include "argosy/testing/op_cases/state_case.h"

namespace argosy {

namespace {

constexpr std::chrono::seconds kLimit{60};

bool is_variable(const RecordedCase& c, int i) {
  return c.changes_variables && names_variable(*builtin_ops().find(c.op), static_cast<std::size_t>(i));
}

// The same elements as what lies in the middle of `whole`.
Tensor middle_of(const Tensor& whole, const Shape& shape) {
  const std::int64_t n = shape.elements(), skip = (whole.elements() - n) / 2;
  return whole.clone().reshaped({whole.elements()}).rows(skip, skip + n).reshaped(shape).clone();
}

// One case in a graph, with operands of its own, or made one in some form.
class Built {
 public:
  Built(Graph& graph, const RecordedCase& c, const Aliases& aliases, const Form* form, std::string tag, Feeds& feeds,
        std::vector<Value>& assigned)
      : graph_(graph), case_(c), form_(form), tag_(std::move(tag)), feeds_(feeds) {
    const OpDef& op = *builtin_ops().find(c.op);
    std::vector<Value> inputs(c.inputs.size()), own;
    const auto is_other = [&](int i) {
      return std::find(aliases.others.begin(), aliases.others.end(), i) != aliases.others.end();
    };
    for (int i = 0; i < static_cast<int>(c.inputs.size()); ++i) {
      if (is_variable(c, i)) inputs[at(i)] = variable(op, i, own);
    }
    const auto after_assignment = graph.control_dependencies(own);
    for (int i = 0; i < static_cast<int>(c.inputs.size()); ++i) {
      if (is_variable(c, i) || is_other(i)) continue;
      inputs[at(i)] = i == aliases.first ? computed(c.inputs[at(i)]) : constant(graph, c.inputs[at(i)]);
    }
    for (const int i : aliases.others) {
      const Tensor value = middle_of(c.inputs[at(aliases.first)], c.inputs[at(i)].shape());
      inputs[at(i)] =
          form == nullptr ? computed(value) : alias(inputs[at(aliases.first)], aliases.first, value.shape());
    }
    node_ = graph.add(c.op, inputs, c.attrs);
    assigned.insert(assigned.end(), own.begin(), own.end());
    if (!node_.valid()) return;
    const auto& dtypes = graph.node(node_.node()).output_dtypes;
    for (int o = 0; o < static_cast<int>(dtypes.size()); ++o) {
      const bool reference = o < static_cast<int>(op.output_args.size()) && op.output_args[at(o)].is_ref;
      if (reference || !(is_plain(dtypes[at(o)]) || dtypes[at(o)] == DType::kString)) continue;
      // What is fetched has memory of its own; its reader is fetched instead.
      fetches.push_back(graph.add("Pack", {node_.output(o)}));
    }
  }

  Value node() const { return node_; }
  std::vector<Value> fetches, variables;

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  Value variable(const OpDef& op, int i, std::vector<Value>& assigned) {
    const Tensor& before = case_.inputs[at(i)];
    const bool reference = op.input_args[at(i)].is_ref;
    const Value v = graph_.add(
        reference ? "VariableV2" : "VarHandleOp", {},
        {{"dtype", before.dtype()}, {"shape", PartialShape(before.shape())}, {"shared_name", str_cat(tag_, "v", i)}});
    assigned.push_back(graph_.add(reference ? "Assign" : "AssignVariableOp", {v, constant(graph_, before)}));
    variables.push_back(v);
    return v;
  }

  // In memory of the step: row 1 of something fed.
  Value computed(const Tensor& value) {
    const std::int64_t n = value.elements();
    std::vector<std::int64_t> sizes = {2};
    sizes.insert(sizes.end(), value.shape().sizes().begin(), value.shape().sizes().end());
    Tensor twice = Tensor::zeros(value.dtype(), Shape(std::span<const std::int64_t>(sizes)));
    if (n > 0) copy_elements(twice.reshaped({2 * n}).rows(n, 2 * n), value.reshaped({n}));
    fed_ = placeholder(graph_, value.dtype(), PartialShape(twice.shape()));
    feeds_.push_back({fed_, twice});
    return row_of_fed();
  }
  Value row_of_fed() {
    const auto index = [&](std::int32_t i) { return constant(graph_, Tensor::vector<std::int32_t>({i})); };
    return graph_.add("StridedSlice", {fed_, index(1), index(2), index(1)}, {{"shrink_axis_mask", std::int64_t{1}}});
  }

  Value alias(const Value& whole, int first, const Shape& shape) {
    Value from = whole;
    if (*form_ == Form::kMerged) return row_of_fed();
    if (*form_ == Form::kRead) {
      const Tensor& held = case_.inputs[at(first)];
      const bool reference = graph_.node(whole.node()).output_is_ref(0);
      if (reference && shape == held.shape()) return whole;  // read where it is used
      from = reference ? graph_.add("Identity", {whole})
                       : graph_.add("ReadVariableOp", {whole}, {{"dtype", held.dtype()}});
    }
    if (*form_ == Form::kSame) return from;
    const std::int64_t all = case_.inputs[at(first)].elements(), n = shape.elements(), skip = (all - n) / 2;
    Value flat = graph_.add("Reshape", {graph_.add("Identity", {from}), sizes(Shape({all}))});
    if (n < all) {
      std::vector<std::int64_t> weights;
      for (const std::int64_t w : {skip, n, all - n - skip}) {
        if (w > 0) weights.push_back(w);
      }
      flat = shard_batch(flat, weights, skip > 0 ? 1 : 0);
    }
    return graph_.add("Reshape", {flat, sizes(shape)});
  }
  Value sizes(const Shape& shape) {
    return constant(graph_, Tensor::vector(std::vector<std::int64_t>(shape.sizes().begin(), shape.sizes().end())));
  }

  Graph& graph_;
  const RecordedCase& case_;
  const Form* const form_;
  const std::string tag_;
  Feeds& feeds_;
  Value fed_, node_;
};

bool bitwise_equal(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  if (is_plain(a.dtype())) return a.bytes() == 0 || std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
  return attr_equal(AttrValue(a), AttrValue(b));
}

const char* name_of(Form form) {
  switch (form) {
    case Form::kSame: return "the same value";
    case Form::kMerged: return "equal nodes";
    case Form::kViews: return "views";
    case Form::kRead: return "read from the variable";
  }
  return "";
}

// A loop whose turns are on one device and whose condition is on another: no order is safe for its step.
Value loop_over_two(Graph& graph) {
  const auto host = graph.device("/cpu:0");
  const auto body = [&](const Value& carried) {
    const auto on = graph.device("/gpu:0");
    return graph.add("Neg", {carried});
  };
  return DataflowLoop(graph, constant(graph, 1.0f), body).out;
}

}  // namespace

std::vector<Aliases> aliases_of(const RecordedCase& c) {
  std::vector<Aliases> all;
  const int n = static_cast<int>(c.inputs.size());
  const auto input = [&](int i) -> const Tensor& { return c.inputs[static_cast<std::size_t>(i)]; };
  const auto usable = [&](int i) { return input(i).valid() && is_plain(input(i).dtype()) && input(i).elements() > 0; };
  for (int i = 0; i < n; ++i) {
    if (!usable(i)) continue;
    std::vector<int> alike;
    for (int j = 0; j < n; ++j) {
      if (j == i || is_variable(c, j) || !usable(j) || input(j).dtype() != input(i).dtype()) continue;
      const bool one_shape = input(j).shape() == input(i).shape();
      if (one_shape) alike.push_back(j);
      const bool fits = one_shape ? j > i || is_variable(c, i) : input(j).elements() <= input(i).elements();
      if (fits) all.push_back({i, {j}});
    }
    if (alike.size() > 1 && (alike.front() > i || is_variable(c, i))) all.push_back({i, alike});
  }
  return all;
}

std::string describe(const Aliases& aliases) {
  return str_cat("operand ", str_join(aliases.others, ", "), " in the memory of operand ", aliases.first);
}

AliasedRun run_aliased(const std::shared_ptr<DeviceSet>& device_set, const RecordedCase& c, const Aliases& aliases,
                       bool optimize, bool by_dataflow) {
  AliasedRun run;
  Graph graph;
  Feeds feeds;
  std::vector<Value> fetches, targets, variables;
  struct Part {
    const char* device;
    const Form* form;
    std::size_t fetches, variables;
  };
  std::vector<Part> parts;  // of each device, that with operands of their own first
  const bool whole = std::all_of(aliases.others.begin(), aliases.others.end(), [&](int j) {
    return c.inputs[static_cast<std::size_t>(j)].shape() == c.inputs[static_cast<std::size_t>(aliases.first)].shape();
  });
  static constexpr Form kForms[] = {Form::kSame, Form::kMerged, Form::kViews, Form::kRead};
  for (const char* const device : {"/cpu:0", "/gpu:0"}) {
    if (device[1] == 'g' && device_set->num_gpus() == 0) continue;
    const auto on = graph.device(device);
    for (int k = -1; k < static_cast<int>(std::size(kForms)); ++k) {
      const Form* const form = k < 0 ? nullptr : &kForms[k];
      if (form != nullptr) {
        const bool read = is_variable(c, aliases.first);
        if ((*form == Form::kRead) != read) continue;
        if (!whole && (*form == Form::kSame || *form == Form::kMerged)) continue;
        if (*form == Form::kMerged && !optimize) continue;
      }
      Built built(graph, c, aliases, form, str_cat("p", parts.size()), feeds, targets);
      if (!built.node().valid()) break;
      targets.push_back(built.node().control());
      parts.push_back({device, form, built.fetches.size(), built.variables.size()});
      fetches.insert(fetches.end(), built.fetches.begin(), built.fetches.end());
      variables.insert(variables.end(), built.variables.begin(), built.variables.end());
    }
  }
  if (by_dataflow) fetches.push_back(loop_over_two(graph));
  run.status = graph.status();
  if (!run.status.ok()) return run;
  device_set->reset();
  Session session(graph, {.device_set = device_set, .optimize = optimize, .trace_path = ""});
  run.status = session.status();
  if (!run.status.ok()) return run;
  if (by_dataflow) {
    std::vector<std::pair<Value, Shape>> fed;
    for (const auto& [value, tensor] : feeds) fed.emplace_back(value, tensor.shape());
    const auto report = session.placement(fed, fetches, targets);
    run.status = report.status();
    if (!run.status.ok()) return run;
    if (report->summary().find("by dataflow rules") == std::string::npos) {
      run.difference = "the step does not run by dataflow rules";
      return run;
    }
  }
  auto out = session.run(feeds, fetches, targets, {.timeout = kLimit});
  run.status = out.status();
  if (!out.ok()) return run;
  std::vector<Tensor> after;
  if (!variables.empty()) {
    auto held = session.run(variables);
    run.status = held.status();
    if (!held.ok()) return run;
    after = *std::move(held);
  }
  // Each beside the first of its device.
  std::size_t fetch = 0, variable = 0, own_fetch = 0, own_variable = 0;
  for (const Part& part : parts) {
    if (part.form == nullptr) {
      own_fetch = fetch;
      own_variable = variable;
    } else {
      ++run.forms;
    }
    const auto tell = [&](const char* what, std::size_t i, const Tensor& got, const Tensor& expected) {
      if (!run.difference.empty() || bitwise_equal(got, expected)) return;
      const std::string where = difference(got, expected, 0);
      run.difference = str_cat(part.form == nullptr ? "" : name_of(*part.form), " on ", part.device,
                               by_dataflow ? " by dataflow" : " in order", optimize ? ", optimised" : "", ": ", what,
                               " ", i, " ", where.empty() ? std::string("has other bits") : where);
    };
    for (std::size_t i = 0; i < part.fetches; ++i) tell("output", i, (*out)[fetch + i], (*out)[own_fetch + i]);
    for (std::size_t i = 0; i < part.variables; ++i) tell("variable", i, after[variable + i], after[own_variable + i]);
    fetch += part.fetches;
    variable += part.variables;
  }
  return run;
}

}  // namespace argosy
