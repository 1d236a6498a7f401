// The C++ side of the comparison of exported graphs with TensorFlow: builds a table of graphs, runs each, and writes
// each into the folder given, as a GraphDef; prints what was fed, fetched and found as JSON.
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "argosy/graph/gradients.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/control_flow/functional.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/matmul/matmul.h"
#include "argosy/ops/state/state.h"
#include "argosy/runtime/session/session.h"
#include "argosy/tf/graph/graph_export.h"

namespace {

using namespace argosy;
using Values = std::vector<Value>;

// Nodes to run first, and values to fetch.
struct Program {
  Values first, fetches;
};

Program plain(Graph& g, Value x) {
  const Value w = constant(g, Tensor::of<double>({3, 2}, {1, -2, 3, 0.5, 0, 1}), "w");
  const Value rows = g.add("ExpandDims", {x, constant(g, 0)});
  const Value y = matmul(rows, w);
  const Value halves = g.add("Split", {constant(g, 1), y}, {{"num_split", 2}});
  const Value both = g.add("ConcatV2", {halves.output(1), halves.output(0), constant(g, 1)}, {{"N", 2}});
  return {{}, {both, gradients(g, {both}, {x})[0]}};
}

Program branches(Graph& g, Value x) {
  const Value total = g.add("Sum", {x, constant(g, 0)});
  const Value y = cond_value(
      greater(total, 0), [&] { return x * x; },
      [&] {
        return cond_value(
            less(total, -5), [&] { return -x; }, [&] { return x + total; });
      });
  const Value index = g.add("Cast", {total}, {{"DstT", DType::kInt32}});
  const Value z =
      switch_case(index, {[&] { return Values{x}; }, [&] { return Values{x * 3}; }, [&] { return Values{sin(x)}; }})[0];
  const Values dxs = gradients(g, {y, z}, {x});
  return {{}, {y, z, dxs[0]}};
}

Program loops(Graph& g, Value x) {
  const Values last = while_loop(
      {constant(g, 0), x}, [&](const Values& v) { return less(v[0], 4); },
      [&](const Values& v) {
        const Value inner = while_loop(
            {constant(g, 0), v[1]}, [&](const Values& u) { return less(u[0], v[0]); },
            [&](const Values& u) {
              return Values{u[0] + 1, sin(u[1]) + x};
            })[1];
        return Values{v[0] + 1, inner * x};
      });
  return {{}, {last[0], last[1], gradients(g, {last[1]}, {x})[0]}};
}

Program calls(Graph& g, Value x) {
  const FunctionValue f = define_function(g, "Weigh", {{DType::kFloat64, {3}}}, [&](const Values& args) {
    return Values{args[0] * args[0] * x, -args[0]};
  });
  const Values once = call(g, f, {sin(x)});
  const Values twice = call(g, f, {once[0]});
  return {{}, {twice[0], twice[1], gradients(g, {twice[0]}, {x})[0]}};
}

Program variables(Graph& g, Value x) {
  const VariableNode ref = variable(g, Tensor::of<double>({3}, {1, 2, 3}), "ref");
  const VariableNode resource =
      variable(g, Tensor::of<double>({3}, {1, 2, 3}), "resource", {.kind = VariableKind::kResource});
  const Value branch = cond_value(
      greater(g.add("Sum", {x, constant(g, 0)}), -100),
      [&] {
        const auto after = g.control_dependencies({assign_add(resource, x)});
        return read_value(resource);
      },
      [&] { return resource.read; });
  const auto after = g.control_dependencies({branch, assign_sub(ref, x)});
  return {{ref.initializer, resource.initializer}, {branch, read_value(ref)}};
}

const std::pair<const char*, Program (*)(Graph&, Value)> kPrograms[] = {
    {"plain", plain}, {"branches", branches}, {"loops", loops}, {"calls", calls}, {"variables", variables}};

void print_values(const Tensor& t) {
  std::printf("[");
  for (std::int64_t i = 0; i < t.elements(); ++i) {
    const double v = t.dtype() == DType::kInt32 ? t.data<std::int32_t>()[i] : t.data<double>()[i];
    std::printf("%s%.17g", i == 0 ? "" : ", ", v);
  }
  std::printf("]");
}

Status run(const char* name, Program (*build)(Graph&, Value), const std::vector<double>& at,
           const std::string& folder) {
  Graph graph;
  const Value x = placeholder(graph, DType::kFloat64, {3}, "x");
  const Program program = build(graph, x);
  ARGOSY_RETURN_IF_ERROR(graph.status());
  ARGOSY_RETURN_IF_ERROR(tf::save_graph(str_cat(folder, "/", name, ".pb"), graph));
  Session session(graph);
  for (const Value& first : program.first) ARGOSY_RETURN_IF_ERROR(session.run_targets({first}));
  ARGOSY_ASSIGN_OR_RETURN(const auto values, session.run({{x, Tensor::vector(at)}}, program.fetches));
  std::printf("{\"name\": \"%s\", \"feeds\": {\"x:0\": [%g, %g, %g]}, \"first\": [", name, at[0], at[1], at[2]);
  for (std::size_t i = 0; i < program.first.size(); ++i) {
    std::printf("%s\"%s\"", i == 0 ? "" : ", ", std::string(program.first[i].node_name()).c_str());
  }
  std::printf("], \"fetches\": [");
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::printf("%s\"%s\"", i == 0 ? "" : ", ", program.fetches[i].name().c_str());
  }
  std::printf("], \"values\": [");
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) std::printf(", ");
    print_values(values[i]);
  }
  std::printf("]}");
  return ok_status();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  bool first = true;
  std::printf("[");
  for (const auto& [name, build] : kPrograms) {
    int variant = 0;
    for (const std::vector<double>& at :
         std::vector<std::vector<double>>{{0.3, 1.2, -0.4}, {-0.7, 0.2, 0.1}, {-3, -4, 1}}) {
      if (!first) std::printf(",\n");
      first = false;
      const std::string label = str_cat(name, "_", ++variant);
      if (Status status = run(label.c_str(), build, at, argv[1]); !status.ok()) {
        std::fprintf(stderr, "%s: %s\n", label.c_str(), status.to_string().c_str());
        return 1;
      }
    }
  }
  std::printf("]\n");
  return 0;
}
