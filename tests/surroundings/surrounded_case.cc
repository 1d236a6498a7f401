#include "tests/surroundings/surrounded_case.h"

#include <algorithm>

#include "argosy/ops/constant/constant.h"
#include "argosy/ops/control_flow/functional.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/ops.h"
#include "argosy/runtime/session/session.h"
#include "argosy/testing/op_cases/op_case.h"

namespace argosy {

namespace {

constexpr std::chrono::seconds kLimit{60};
constexpr Surroundings kAll[] = {Surroundings::kTop, Surroundings::kCall, Surroundings::kTaken, Surroundings::kNotTaken,
                                 Surroundings::kLoop};

const char* name_of(Surroundings where) {
  switch (where) {
    case Surroundings::kTop: return "constants";
    case Surroundings::kCall: return "in a function";
    case Surroundings::kTaken: return "in a branch";
    case Surroundings::kNotTaken: return "in a branch that is not taken";
    case Surroundings::kLoop: return "in a loop";
  }
  return "";
}

bool is_shown(const Tensor& t) { return t.valid() && (is_plain(t.dtype()) || t.dtype() == DType::kString); }

// What the op alone gives: all operands fed, no pass. `dtypes`: of its outputs; empty: no graph takes the case.
Result<std::vector<Tensor>> run_alone(const std::shared_ptr<DeviceSet>& device_set, const RecordedCase& c,
                                      std::vector<DType>& dtypes) {
  Graph graph;
  Feeds feeds;
  std::vector<Value> inputs;
  for (const Tensor& t : c.inputs) {
    inputs.push_back(placeholder(graph, t.dtype(), PartialShape(t.shape())));
    feeds.emplace_back(inputs.back(), t);
  }
  const Value node = graph.add(c.op, inputs, c.attrs);
  if (!graph.status().ok()) return graph.status();
  const auto& given = graph.node(node.node()).output_dtypes;
  dtypes.assign(given.begin(), given.end());
  std::vector<Value> outputs;
  for (int o = 0; o < static_cast<int>(dtypes.size()); ++o) outputs.push_back(node.output(o));
  Session session(graph, {.device_set = device_set, .optimize = false, .trace_path = ""});
  std::vector<std::pair<Value, Shape>> shapes;
  for (const auto& [value, tensor] : feeds) shapes.emplace_back(value, tensor.shape());
  if (const auto compiled = session.placement(shapes, outputs, {}); !compiled.ok()) {
    dtypes.clear();
    return compiled.status();
  }
  return session.run(feeds, outputs, {}, {.timeout = kLimit});
}

// The case in one graph, once in each of its surroundings.
class Surrounded {
 public:
  // `expected`: outputs of the op alone, or scalars of their dtypes where it fails.
  Surrounded(const RecordedCase& c, const std::vector<Tensor>& expected, int fed, bool inside)
      : case_(c), expected_(expected) {
    pred_ = placeholder(graph_, DType::kBool, PartialShape::scalar());
    feeds_.emplace_back(pred_, Tensor::scalar(true));
    operands_.resize(c.inputs.size());
    for (std::size_t i = 0; i < c.inputs.size(); ++i) {
      if (static_cast<int>(i) == fed) {
        operands_[i] = placeholder(graph_, c.inputs[i].dtype(), PartialShape(c.inputs[i].shape()));
        feeds_.emplace_back(operands_[i], c.inputs[i]);
      } else if (!inside) {
        operands_[i] = constant(graph_, c.inputs[i]);
      }
    }
  }

  // The outputs that are compared, in these surroundings.
  std::vector<Value> build(Surroundings where) {
    switch (where) {
      case Surroundings::kTop: return op();
      case Surroundings::kCall: {
        const FunctionValue f =
            define_function(graph_, "surrounding", {}, [&](const std::vector<Value>&) { return op(); });
        return call(graph_, f, {});
      }
      case Surroundings::kTaken:
        return cond(
            pred_, [&] { return op(); }, [&] { return zeros(); });
      case Surroundings::kNotTaken:
        return cond(
            pred_, [&] { return zeros(); }, [&] { return op(); });
      case Surroundings::kLoop: {
        std::vector<Value> carried = zeros();
        carried.insert(carried.begin(), constant(graph_, 0));
        WhileOptions any;
        any.shape_invariants.assign(carried.size(), PartialShape::unknown());
        any.shape_invariants[0] = PartialShape::scalar();
        std::vector<Value> last = while_loop(
            carried, [&](const std::vector<Value>& v) { return less(v[0], constant(graph_, 2)); },
            [&](const std::vector<Value>& v) {
              std::vector<Value> next = op();
              next.insert(next.begin(), v[0] + constant(graph_, 1));
              return next;
            },
            any);
        if (!last.empty()) last.erase(last.begin());
        return last;
      }
    }
    return {};
  }

  const Graph& graph() const { return graph_; }
  const Feeds& feeds() const { return feeds_; }

 private:
  std::vector<Value> op() {
    std::vector<Value> inputs = operands_;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i].valid()) inputs[i] = constant(graph_, case_.inputs[i]);
    }
    const Value node = graph_.add(case_.op, inputs, case_.attrs);
    std::vector<Value> outputs;
    for (std::size_t o = 0; o < expected_.size(); ++o) {
      if (is_shown(expected_[o])) outputs.push_back(node.output(static_cast<int>(o)));
    }
    return outputs;
  }
  std::vector<Value> zeros() {
    std::vector<Value> all;
    for (const Tensor& t : expected_) {
      if (is_shown(t)) all.push_back(constant(graph_, Tensor::zeros(t.dtype(), t.shape())));
    }
    return all;
  }

  const RecordedCase& case_;
  const std::vector<Tensor>& expected_;
  Graph graph_;
  Feeds feeds_;
  Value pred_;
  std::vector<Value> operands_;  // not valid(): a constant, made where the op is
};

// A case that fails: it fails as a constant, too, and does no harm in a branch that is not taken.
void run_failing(const std::shared_ptr<DeviceSet>& device_set, const RecordedCase& c, const std::vector<DType>& dtypes,
                 int fed, bool inside, SurroundedRun& run) {
  std::vector<Tensor> scalars;
  for (const DType dtype : dtypes) {
    scalars.push_back(is_plain(dtype) || dtype == DType::kString ? Tensor::zeros(dtype, Shape({})) : Tensor());
  }
  for (const Surroundings where : {Surroundings::kTop, Surroundings::kNotTaken}) {
    Surrounded surrounded(c, scalars, fed, inside);
    const std::vector<Value> values = surrounded.build(where);
    if (!surrounded.graph().status().ok() || values.empty()) continue;  // known operands may be refused sooner
    Session session(surrounded.graph(), {.device_set = device_set, .trace_path = ""});
    const auto out = session.run(surrounded.feeds(), values, {}, {.timeout = kLimit});
    ++run.forms;
    const Code wanted = where == Surroundings::kTop ? run.status.code() : Code::kOk;
    if (out.status().code() != wanted && run.difference.empty()) {
      run.difference = str_cat(name_of(where), ": ", out.status().to_string(), ", alone: ", run.status.to_string());
    }
  }
}

}  // namespace

bool may_be_surrounded(const RecordedCase& c) {
  const OpDef* const op = builtin_ops().find(c.op);
  if (op == nullptr || op->async || op->stateful || op->calls != Calls::kNothing || op->flow != Flow::kNone)
    return false;
  return !c.changes_variables && !c.inputs.empty() &&
         std::all_of(c.inputs.begin(), c.inputs.end(), [](const Tensor& t) { return is_shown(t); });
}

SurroundedRun run_surrounded(const std::shared_ptr<DeviceSet>& device_set, const RecordedCase& c, int fed,
                             bool inside) {
  SurroundedRun run;
  std::vector<DType> dtypes;
  const auto alone = run_alone(device_set, c, dtypes);
  run.status = alone.status();
  if (!alone.ok()) {
    if (!dtypes.empty()) run_failing(device_set, c, dtypes, fed, inside, run);
    return run;
  }
  Surrounded surrounded(c, *alone, fed, inside);
  std::vector<Value> fetches;
  std::vector<std::pair<Surroundings, std::size_t>> parts;  // with the number of values
  for (const Surroundings where : kAll) {
    const std::vector<Value> values = surrounded.build(where);
    if (!surrounded.graph().status().ok()) {
      run.difference = str_cat(name_of(where), ": ", surrounded.graph().status().to_string());
      return run;
    }
    fetches.insert(fetches.end(), values.begin(), values.end());
    parts.emplace_back(where, values.size());
  }
  if (fetches.empty()) return run;
  Session session(surrounded.graph(), {.device_set = device_set, .trace_path = ""});
  const auto out = session.run(surrounded.feeds(), fetches, {}, {.timeout = kLimit});
  if (!out.ok()) {
    run.difference = out.status().to_string();
    return run;
  }
  std::size_t at = 0;
  for (const auto& [where, count] : parts) {
    ++run.forms;
    std::size_t o = 0;
    for (const Tensor& expected : *alone) {
      if (!is_shown(expected)) continue;
      const Tensor wanted =
          where == Surroundings::kNotTaken ? Tensor::zeros(expected.dtype(), expected.shape()) : expected;
      const std::string told =
          difference((*out)[at + o], wanted, dtype_tolerance(wanted.dtype(), std::max(c.tolerance, 1e-5)));
      if (run.difference.empty() && !told.empty()) run.difference = str_cat(name_of(where), ": output ", o, " ", told);
      ++o;
    }
    at += count;
  }
  return run;
}

}  // namespace argosy
