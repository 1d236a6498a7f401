// A temporary variable that no DestroyTemporaryVariable ends lives as long as its step: steps that leave them behind,
// in a loop or cut short by an error, must not take more memory each.
#include <gtest/gtest.h>

#include "argosy/ops/constant/constant.h"
#include "argosy/ops/control_flow/functional.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/runtime/session/session.h"
#include "tests/session/support/test_session.h"

namespace argosy {
namespace {

constexpr std::int64_t kMany = 1 << 18;  // floats: a MiB

Value left_behind(Graph& g, Value value) {
  const Value t = g.add("TemporaryVariable", {}, {{"dtype", DType::kFloat32}, {"shape", PartialShape{kMany}}});
  return g.add("Assign", {t, value});
}
Value filled(Graph& g, float with) {
  return g.add("Fill",
               {constant(g, Tensor::vector<std::int32_t>({static_cast<std::int32_t>(kMany)})), constant(g, with)});
}

void stays_flat(TestSession& session, const std::vector<Value>& fetches, bool fails = false) {
  std::uint64_t before = 0;
  for (int step = 0; step < 40; ++step) {
    EXPECT_EQ(session.run(fetches).ok(), !fails);
    const std::uint64_t used = session.device_set().device(0).allocator().stats().in_use_bytes;
    if (step == 4) before = used;
    EXPECT_TRUE(step <= 4 || used <= before + before / 100) << "step " << step << ": " << used << " after " << before;
  }
}

TEST(Issue31Temporaries, EndWithTheirStep) {
  Graph g;
  const Value last = g.add("Size", {g.add("Identity", {left_behind(g, filled(g, 2))})});
  TestSession session(g);
  stays_flat(session, {last});
}

TEST(Issue31Temporaries, OfALoopEndWithTheirStep) {
  Graph g;
  const Value last = while_loop(
      {constant(g, 0)}, [&](const auto& v) { return less(v[0], constant(g, 5)); },
      [&](const auto& v) {
        const Value size = g.add("Size", {g.add("Identity", {left_behind(g, filled(g, 1))})});
        return std::vector{v[0] + g.add("Sign", {size})};
      })[0];
  ASSERT_TRUE(g.status().ok()) << g.status().to_string();
  TestSession session(g);
  stays_flat(session, {last});
}

TEST(Issue31Temporaries, OfAStepThatFailsEndWithIt) {
  Graph g;
  const Value kept = g.add("Identity", {left_behind(g, filled(g, 2))});
  const Value broken = g.add(
      "Reshape", {kept, g.add("Fill", {constant(g, Tensor::vector<std::int32_t>({1})),
                                       g.add("Size", {g.add("Fill", {constant(g, Tensor::vector<std::int32_t>({3})),
                                                                     constant(g, 1.0f)})})})});
  TestSession session(g);
  stays_flat(session, {broken}, true);
}

}  // namespace
}  // namespace argosy
