// A shape of 2^80 elements counted as fully known: OnesLike of it ended in a failed check (INTERNAL), and a branch that is
// not taken failed its step. Whoever runs such an op gets the kernel's error; nobody else does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "argosy/ops/constant/constant.h"
#include "argosy/ops/control_flow/functional.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/reduction/reduction.h"
#include "argosy/runtime/session/session.h"
#include "tests/session/support/test_session.h"

namespace argosy {
namespace {

class Overflow : public testing::Test {
 protected:
  Value huge(const char* op) {
    const Value sizes = constant(graph_, Tensor::vector<std::int64_t>({std::int64_t{1} << 40, std::int64_t{1} << 40}));
    if (op[0] == 'F') return graph_.add(op, {sizes, x_});
    if (op[0] == 'B') return graph_.add(op, {x_, sizes});
    return graph_.add(op, {graph_.add("Reshape", {x_, constant(graph_, Tensor::vector<std::int32_t>({1, 1}))}), sizes});
  }
  Result<std::vector<Tensor>> run(const Value& v) {
    if (!graph_.status().ok()) return graph_.status();
    return TestSession(graph_, {.trace_path = ""}).run({{x_, Tensor::scalar(3.0f)}}, {v});
  }

  Graph graph_;
  const Value x_ = placeholder(graph_, DType::kFloat32, PartialShape::scalar());
};

TEST_F(Overflow, IsTheKernelsError) {
  for (const char* const op : {"BroadcastTo", "Fill", "Tile"}) {
    for (const char* const user : {"", "OnesLike", "ZerosLike", "Neg"}) {
      const Value v = *user == 0 ? huge(op) : graph_.add(user, {huge(op)});
      const auto out = run(v);
      EXPECT_EQ(out.status().code(), Code::kInvalidArgument) << op << " " << user << ": " << out.status().to_string();
    }
  }
}

TEST_F(Overflow, DoesNoHarmInABranchThatIsNotTaken) {
  for (const char* const op : {"BroadcastTo", "Fill", "Tile"}) {
    const Value v = cond_value(
        greater(x_, 5), [&] { return reduce_sum(huge(op)); }, [&] { return x_ + x_; });
    const auto out = run(v);
    ASSERT_TRUE(out.ok()) << op << ": " << out.status().to_string();
    EXPECT_EQ(*(*out)[0].data<float>(), 6) << op;
  }
}

}  // namespace
}  // namespace argosy
