// The C++ side of the comparison of control flow with TensorFlow: runs a table of small programs of one number x, at
// several x, and prints value and derivative of each as JSON. control_flow.py writes the same programs for TensorFlow.
#include <cstdio>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "argosy/graph/gradients.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/control_flow/functional.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/list/list.h"
#include "argosy/ops/tensor_array/tensor_array.h"
#include "argosy/runtime/session/session.h"

namespace {

using namespace argosy;
using Values = std::vector<Value>;

Value integer(Graph& g, std::int32_t n) { return constant(g, n); }
Value real(Graph& g, double v) { return constant(g, v); }
Value total(Value rows) { return rows.graph().add("Sum", {rows, integer(rows.graph(), 0)}); }

Value nested_cond(Value x) {
  return cond_value(
      greater(x, 0),
      [&] {
        return cond_value(
            greater(x, 1), [&] { return x * x * x; }, [&] { return x * x; });
      },
      [&] { return -x; });
}

Value cases(Value x) {
  Graph& g = x.graph();
  const Value index = g.add("Cast", {x}, {{"DstT", DType::kInt32}});
  return switch_case(index,
                     {[&] { return Values{x}; }, [&] { return Values{x * x}; }, [&] { return Values{sin(x)}; }})[0];
}

Value counted_loop(Value x) {
  Graph& g = x.graph();
  return while_loop(
      {integer(g, 0), x}, [&](const Values& v) { return less(v[0], 3); },
      [&](const Values& v) {
        return Values{v[0] + 1, sin(v[1]) * x};
      })[1];
}

Value loop_by_value(Value x) {
  return while_loop(
      {x, x * x}, [&](const Values& v) { return less(v[1], 50); },
      [&](const Values& v) {
        return Values{v[0] + v[1] * 0.1, v[1] + v[0] * v[0] + 1};
      })[0];
}

Value loop_with_limit(Value x) {
  return while_loop(
      {x}, [&](const Values& v) { return less(v[0], 1e300); }, [&](const Values& v) { return Values{v[0] * x + 1}; },
      {.maximum_iterations = 5})[0];
}

Value no_iteration(Value x) {
  return while_loop(
      {real(x.graph(), 0), x * x}, [&](const Values& v) { return greater(v[0], 0); },
      [&](const Values& v) {
        return Values{v[0], v[1] * x};
      })[1];
}

Value nested_loops(Value x) {
  Graph& g = x.graph();
  return while_loop(
      {integer(g, 0), x}, [&](const Values& v) { return less(v[0], 3); },
      [&](const Values& v) {
        const Values inner = while_loop(
            {integer(g, 0), v[1]}, [&](const Values& u) { return less(u[0], v[0]); },
            [&](const Values& u) {
              return Values{u[0] + 1, sin(u[1]) + v[1] * x};
            });
        return Values{v[0] + 1, inner[1]};
      })[1];
}

Value cond_in_loop(Value x) {
  Graph& g = x.graph();
  return while_loop(
      {integer(g, 0), x}, [&](const Values& v) { return less(v[0], 6); },
      [&](const Values& v) {
        const Value next = cond_value(
            greater(v[1], 1), [&] { return v[1] * 0.5; }, [&] { return v[1] * v[1] + x; });
        return Values{v[0] + 1, next};
      })[1];
}

Value loop_in_cond(Value x) {
  return cond_value(
      greater(x, 0), [&] { return counted_loop(x); }, [&] { return x * 7; });
}

Value list_in_loop(Value x) {
  Graph& g = x.graph();
  const Values last = while_loop(
      {integer(g, 0), x, tensor_list(g, DType::kFloat64, PartialShape::scalar())},
      [&](const Values& v) { return less(v[0], 4); },
      [&](const Values& v) {
        const Value next = sin(v[1]) + x;
        return Values{v[0] + 1, next, tensor_list_push_back(v[2], next * next)};
      });
  return total(tensor_list_stack(last[2]));
}

Value array_in_loop(Value x) {
  Graph& g = x.graph();
  const TensorArrayValue array =
      tensor_array(integer(g, 4), DType::kFloat64, {.element_shape = PartialShape::scalar()});
  const Values last = while_loop(
      {integer(g, 0), x, array.flow}, [&](const Values& v) { return less(v[0], 4); },
      [&](const Values& v) {
        const Value next = sin(v[1]) + x;
        const auto written = tensor_array_write({array.handle, v[2], DType::kFloat64}, v[0], next * next);
        return Values{v[0] + 1, next, written.flow};
      });
  const Value all = constant(g, Tensor::vector<std::int32_t>({0, 1, 2, 3}));
  return total(tensor_array_gather({array.handle, last[2], DType::kFloat64}, all));
}

Value called_twice(Value x) {
  Graph& g = x.graph();
  const FunctionValue f = define_function(g, "f", {{DType::kFloat64, PartialShape::scalar()}},
                                          [&](const Values& args) { return Values{args[0] * args[0] * x}; });
  return call(g, f, {call(g, f, {sin(x)})[0]})[0];
}

Value second_derivative(Value x) { return gradients(x.graph(), {counted_loop(x)}, {x})[0]; }

const std::pair<const char*, Value (*)(Value)> kPrograms[] = {
    {"nested_cond", nested_cond},
    {"cases", cases},
    {"counted_loop", counted_loop},
    {"loop_by_value", loop_by_value},
    {"loop_with_limit", loop_with_limit},
    {"no_iteration", no_iteration},
    {"nested_loops", nested_loops},
    {"cond_in_loop", cond_in_loop},
    {"loop_in_cond", loop_in_cond},
    {"list_in_loop", list_in_loop},
    {"array_in_loop", array_in_loop},
    {"called_twice", called_twice},
    {"second_derivative", second_derivative},
};

int run() {
  std::printf("{");
  for (const auto& [name, program] : kPrograms) {
    Graph graph;
    const Value x = placeholder(graph, DType::kFloat64, PartialShape::scalar(), "x");
    const Value y = program(x);
    const Values dx = gradients(graph, {y}, {x});
    Session session(graph);
    std::printf("%s\"%s\": [", name == kPrograms[0].first ? "" : ", ", name);
    bool first = true;
    for (const double at : {-1.3, -0.4, 0.7, 1.2, 2.5, 7.5}) {
      auto out = graph.status().ok() ? session.run({{x, Tensor::scalar(at)}}, {y, dx[0]}) : graph.status();
      if (!out.ok()) {
        std::fprintf(stderr, "%s at %g: %s\n", name, at, out.status().to_string().c_str());
        return 1;
      }
      std::printf("%s[%.17g, %.17g, %.17g]", first ? "" : ", ", at, *out->at(0).data<double>(),
                  *out->at(1).data<double>());
      first = false;
    }
    std::printf("]");
  }
  std::printf("}\n");
  return 0;
}

}  // namespace

int main() { return run(); }
