// What a step changes is the same with and without passes, where loops and branches lie in each other. A constant value
// of an update may be all that ties it to its iteration.
#include <gtest/gtest.h>

#include "argosy/graph/text.h"
#include "argosy/ops/ops.h"
#include "argosy/runtime/session/session.h"

namespace argosy {
namespace {

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

// Values of two floats that do not change in the loop, in an iteration whose value is $d.
constexpr const char* kValues[] = {
    R"(
    $add = Const(^$d) [dtype=float, value=float[2] {0.5, 1}])",
    R"(
    $n = Const(^$d) [dtype=int32, value=int32[1] {2}]
    $half = Const(^$d) [dtype=float, value=float[] {0.5}]
    $add = Fill($n, $half))",
    R"(
    $one = Const(^$d) [dtype=int32, value=int32[2] {1, 2}]
    $add = Cast($one) [DstT=float])",
    R"(
    $a = Const(^$d) [dtype=float, value=float[2] {1, 2}]
    $b = Const(^$d) [dtype=float, value=float[] {3}]
    $add = Mul($a, $b))",
    R"(
    $fixed = EnsureShape($d) [shape=shape[2]]
    $zeros = ZerosLike($fixed)
    $half = Const [dtype=float, value=float[] {0.5}]
    $add = Add($zeros, $half))",
    R"(
    $fixed = EnsureShape($d) [shape=shape[2]]
    $rank = Rank($fixed)
    $size = Size($fixed)
    $sum = Add($rank, $size)
    $f = Cast($sum) [DstT=float]
    $n = Const(^$d) [dtype=int32, value=int32[1] {2}]
    $add = Fill($n, $f))",
    R"(
    $none = Const(^$d) [dtype=int32, value=int32[0] {}]
    $add = Sum($outer, $none))",
};

// A loop of `limit` iterations, from `x`. The outputs of the nodes around it are those of its parameters.
std::string loop(const std::string& name, const std::string& x, const std::string& zero, const std::string& one,
                 const std::string& limit, const std::string& w, const std::string& body) {
  const std::string text = R"(
    $in = Enter(X) [frame_name="$"]
    $i = Enter(ZERO) [frame_name="$"]
    $step = Enter(ONE) [frame_name="$", is_constant=true]
    $zero = Enter(ZERO) [frame_name="$", is_constant=true]
    $limit = Enter(LIMIT) [frame_name="$", is_constant=true]
    $w = Enter(W) [frame_name="$", is_constant=true]
    $outer = Enter(X) [frame_name="$", is_constant=true]
    $m = Merge($in, $next)
    $mi = Merge($i, $nexti)
    $less = Less($mi, $limit)
    $goes_on = LoopCond($less)
    $s = Switch($m, $goes_on)
    $si = Switch($mi, $goes_on)
    $d = Identity($s:1)
    $j = Identity($si:1)
)" + body + R"(
    $next = NextIteration($e)
    $more = Add($j, $step)
    $nexti = NextIteration($more)
    $out = Exit($s)
)";
  std::string made = replaced(text, "(X)", "(" + x + ")");
  made = replaced(replaced(made, "(ZERO)", "(" + zero + ")"), "(ONE)", "(" + one + ")");
  made = replaced(replaced(made, "(LIMIT)", "(" + limit + ")"), "(W)", "(" + w + ")");
  return replaced(made, "$", name);
}

std::string update(const std::string& value) {
  return value + R"(
    $u = AssignAddVariableOp($w, $add)
    $e = Neg($d, ^$u)
)";
}

constexpr const char* kAround = R"(
    p = Placeholder [dtype=bool, shape=shape[]]
    x = Placeholder [dtype=float, shape=shape[2]]
    zero = Placeholder [dtype=int32, shape=shape[]]
    one = Placeholder [dtype=int32, shape=shape[]]
    limit = Placeholder [dtype=int32, shape=shape[]]
    w = VarHandleOp [dtype=float, shape=shape[2], container="", shared_name="w"]
    first = AssignVariableOp(w, x)
    now = ReadVariableOp(w) [dtype=float]
)";

std::string in_a_branch(const std::string& value) {
  return std::string(kAround) + R"(
    xs = Switch(x, p)
    zeros = Switch(zero, p)
    ones = Switch(one, p)
    limits = Switch(limit, p)
    ws = Switch(w, p)
)" + loop("a", "xs:1", "zeros:1", "ones:1", "limits:1", "ws:1", update(value)) +
         "    y = Merge(xs, aout)\n";
}

std::string in_a_loop(const std::string& value) {
  const std::string inner = loop("b", "ad", "azero", "astep", "alimit", "aw", update(value));
  return std::string(kAround) + loop("a", "x", "zero", "one", "limit", "w", inner + "    $e = Neg(bout)\n") +
         "    y = Identity(aout)\n";
}

struct Outcome {
  std::vector<float> y, w;
  bool operator==(const Outcome&) const = default;
};

Result<Outcome> run(const std::string& text, bool optimize, bool p, int limit) {
  ARGOSY_ASSIGN_OR_RETURN(Graph graph, parse_text(text, builtin_ops()));
  const auto value = [&](const char* name) { return graph.value(graph.endpoint(name).value()); };
  const auto node = [&](const char* name) { return Value(&graph, graph.find(name).value(), Value::kControl); };
  const Tensor x = Tensor::vector<float>({1, 2});
  Session session(graph, {.devices = {.devices = "cpu:0"}, .optimize = optimize});
  ARGOSY_RETURN_IF_ERROR(session.run({{value("x"), x}}, {}, {node("first")}).status());
  ARGOSY_ASSIGN_OR_RETURN(const auto y, session.run({{value("x"), x},
                                                     {value("p"), Tensor::scalar(p)},
                                                     {value("zero"), Tensor::scalar(0)},
                                                     {value("one"), Tensor::scalar(1)},
                                                     {value("limit"), Tensor::scalar(limit)}},
                                                    {value("y")}));
  ARGOSY_ASSIGN_OR_RETURN(const auto w, session.run({value("now")}));
  const auto floats = [](const Tensor& t) {
    return std::vector<float>(t.values<float>().begin(), t.values<float>().end());
  };
  return Outcome{floats(y[0]), floats(w[0])};
}

TEST(LoopEffects, AreThoseOfTheGraphAsItIs) {
  for (const char* value : kValues) {
    for (const std::string& text : {in_a_branch(value), in_a_loop(value)}) {
      for (int limit = 0; limit <= 3; ++limit) {
        for (const bool p : {false, true}) {
          const auto plain = run(text, false, p, limit), passed = run(text, true, p, limit);
          ASSERT_TRUE(plain.ok()) << plain.status().to_string() << text;
          ASSERT_TRUE(passed.ok()) << passed.status().to_string() << text;
          EXPECT_EQ(passed->w, plain->w) << limit << " iterations" << text;
          EXPECT_EQ(passed->y, plain->y) << limit << " iterations" << text;
        }
      }
    }
  }
}

// One iteration too many was one update too many: in a branch, n iterations are n updates.
TEST(LoopEffects, AreAsManyAsTheIterations) {
  for (int limit = 0; limit <= 3; ++limit) {
    const auto made = run(in_a_branch(kValues[1]), true, true, limit);
    ASSERT_TRUE(made.ok()) << made.status().to_string();
    const auto n = static_cast<float>(limit);
    EXPECT_EQ(made->w, (std::vector<float>{1 + n / 2, 2 + n / 2}));
  }
}

}  // namespace
}  // namespace argosy
