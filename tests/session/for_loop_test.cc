// For: a functional loop that counts. Against TensorFlow: tests/oracle/programs/control.py.
#include "tests/session/functional_test.h"

namespace argosy {
namespace {

using ForLoop = FunctionalTest;

// v * 2 + i, by iterations of a For whose start, limit and delta are fed.
class Counting {
 public:
  explicit Counting(Graph& graph) {
    const FunctionValue body = define_function(
        graph, "body", {{DType::kInt32, PartialShape::scalar()}, {DType::kFloat64, PartialShape::scalar()}},
        [&](const std::vector<Value>& v) {
          return std::vector{v[1] * 2 + v[1].graph().add("Cast", {v[0]}, {{"DstT", DType::kFloat64}})};
        });
    for (Value& w : way) w = placeholder(graph, DType::kInt32, PartialShape::scalar());
    y = graph.add("For", {way[0], way[1], way[2], constant(graph, 1.0)},
                  {{"body", FunctionRef{body.name}}, {"T", std::vector<DType>{DType::kFloat64}}});
  }
  Value way[3], y;
};

TEST_F(ForLoop, CountsUpAndDown) {
  const Counting loop(graph_);
  ASSERT_TRUE(graph_.status().ok()) << graph_.status().to_string();
  const auto is = [&](std::int32_t start, std::int32_t limit, std::int32_t delta, double expected) {
    const std::int32_t values[] = {start, limit, delta};
    for (int i = 0; i < 3; ++i) feed(loop.way[i], Tensor::scalar(values[i]));
    EXPECT_EQ(run(loop.y), expected) << start << " " << limit << " " << delta;
  };
  is(0, 3, 1, 12);
  is(5, 0, -2, 35);
  is(0, 7, 3, 20);
  is(0, 0, 1, 1);
  is(4, 4, 0, 1);
  is(2147483640, 2147483647, 5, 6442450929);
}

TEST_F(ForLoop, RefusesWaysWithoutAnEnd) {
  const Counting loop(graph_);
  for (const auto& way : {std::array{3, 0, 1}, {0, 3, 0}, {0, 3, -1}}) {
    for (std::size_t i = 0; i < 3; ++i) feed(loop.way[i], Tensor::scalar(std::int32_t{way[i]}));
    const auto out = try_run(loop.y);
    EXPECT_EQ(out.status().code(), Code::kInvalidArgument);
    EXPECT_THAT(out.status().to_string(), HasSubstr("Invalid start/limit/delta: "));
  }
}

}  // namespace
}  // namespace argosy
