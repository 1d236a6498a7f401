// expect_rewrite: a test of a pass, as graph text in and graph text out (argosy/graph/text.h).
//
//   expect_rewrite(remove_identities, R"(
//     x = Placeholder [dtype=float, shape=shape[6]]
//     shape = Const [dtype=int32, value=int32[1] {6}]
//     same = Reshape(x, shape)
//     y = Neg(same)
//     -> y)", R"(
//     x = Placeholder [dtype=float, shape=shape[6]]
//     y = Neg(x)
//     -> y)");
//
// The last line "-> y, a:1, ^b" says what the step fetches (y, a:1) and which nodes it only runs (^b). "_Arg" nodes are
// fed. After the pass the dead nodes are dropped. Compared are: ops, inputs, devices, all attributes (the expected text
// may leave out those that have defaults or follow from the inputs), and the last line. The order of nodes does not
// matter. Inferred shapes and the bodies of functions are not compared.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <string>
#include <vector>

#include "argosy/graph/text.h"
#include "argosy/ops/ops.h"
#include "argosy/passes/simplify/prune.h"

namespace argosy {

// The step that a text describes. A mistake in the text fails the test, and gives an empty step.
inline StepGraph parse_step(const std::string& text) {
  StepGraph step{Graph(builtin_ops()), {}, {}, {}};
  const std::size_t last_line = text.rfind("\n", text.rfind("->"));
  if (last_line == std::string::npos || text.find("->", last_line) == std::string::npos) {
    ADD_FAILURE() << "the last line must be \"-> fetched, ^run\"";
    return step;
  }
  auto graph = parse_text(std::string_view(text).substr(0, last_line + 1), builtin_ops());
  if (!graph.ok()) {
    ADD_FAILURE() << graph.status().to_string() << "\n" << text;
    return step;
  }
  step.graph = *std::move(graph);
  for (std::int32_t i = 0; i < step.graph.size(); ++i) {
    if (step.graph.node({i}).op->name == "_Arg") step.feeds.push_back({i});
  }
  for (std::string name : str_split(text.substr(text.find("->", last_line) + 2), ',')) {
    name.erase(std::remove_if(name.begin(), name.end(), [](unsigned char c) { return std::isspace(c) != 0; }),
               name.end());
    const auto endpoint = step.graph.endpoint(name);
    if (!endpoint.ok()) {
      ADD_FAILURE() << endpoint.status().to_string();
    } else if (endpoint->index == Value::kControl) {
      step.targets.push_back(endpoint->node);
    } else {
      step.fetches.push_back(*endpoint);
    }
  }
  return step;
}

// The step as a text that does not depend on the order of its nodes.
inline std::string step_text(const StepGraph& step) {
  const std::string text = to_text(step.graph, {.shapes = false});
  std::vector<std::string> lines = str_split(text.substr(0, text.find("\nfunction ")), '\n');
  std::erase(lines, "");
  std::sort(lines.begin(), lines.end());
  std::vector<std::string> last;
  for (const Endpoint e : step.fetches) {
    const std::string name = step.graph.node(e.node).name;
    last.push_back(e.index == 0 ? name : str_cat(name, ":", e.index));
  }
  for (const NodeId t : step.targets) last.push_back(str_cat("^", step.graph.node(t).name));
  lines.push_back("-> " + str_join(last));
  return str_join(lines, "\n");
}

using PassFunction = std::function<Result<int>(StepGraph&)>;

// Checks that the pass rewrites `in` to `out`, and returns a number of changes above 0.
inline void expect_rewrite(const PassFunction& pass, const std::string& in, const std::string& out) {
  StepGraph step = parse_step(in);
  const auto changed = pass(step);
  ASSERT_TRUE(changed.ok()) << changed.status().to_string();
  EXPECT_GT(*changed, 0) << "the pass changed nothing";
  const Status dropped = remove_unused_nodes(step);
  ASSERT_TRUE(dropped.ok()) << dropped.to_string();
  const StepGraph wanted = parse_step(out);
  EXPECT_EQ(step_text(step), step_text(wanted));
}

// Checks that the pass does not change `in`, and returns 0.
inline void expect_left_alone(const PassFunction& pass, const std::string& in) {
  StepGraph step = parse_step(in);
  const std::string before = step_text(step);
  const auto changed = pass(step);
  ASSERT_TRUE(changed.ok()) << changed.status().to_string();
  EXPECT_EQ(*changed, 0);
  EXPECT_EQ(step_text(step), before);
}

}  // namespace argosy
