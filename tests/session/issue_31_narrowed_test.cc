// An attribute of 2^32 and more became a small int: a group of 2^32 ranks ended the process, and one of 2^32 + 1 was a group
// of one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "argosy/ops/constant/constant.h"
#include "argosy/runtime/session/session.h"
#include "tests/session/support/test_session.h"

namespace argosy {
namespace {

using testing::HasSubstr;
constexpr std::int64_t kPast = std::int64_t{1} << 32;

TEST(Narrowed, RanksOfAGroupAreRefused) {
  for (const std::int64_t past : {kPast, kPast - 1, kPast + 1, kPast + 2}) {
    for (const char* const name : {"size", "total"}) {
      Graph graph;
      AttrMap attrs = {{"M", 1}, {"group", "g"}, {"rank", 0}, {"size", 1}};
      attrs.set(name, past);
      if (std::string_view(name) == "total") attrs.set("shards", std::vector<std::int64_t>{0});
      const Value sum = graph.add("_AllReduce", {constant(graph, Tensor::vector<float>({1, 2}))}, attrs);
      ASSERT_TRUE(graph.status().ok()) << graph.status().to_string();
      const Status ran = TestSession(graph, {}).run({sum}).status();
      EXPECT_EQ(ran.code(), Code::kInvalidArgument) << name << " " << past << ": " << ran.to_string();
      EXPECT_EQ(ran.id(), "ARG-COMM-005") << ran.to_string();
    }
  }
}

TEST(Narrowed, KeysOfAGroupAreRefused) {
  for (const char* const name : {"group_size", "group_key", "instance_key"}) {
    Graph graph;
    AttrMap attrs = {{"group_size", 1},   {"group_key", 1},   {"instance_key", 1},
                     {"merge_op", "Add"}, {"final_op", "Id"}, {"subdiv_offsets", std::vector<std::int64_t>{0}}};
    attrs.set(name, kPast + 1);
    graph.add("CollectiveReduce", {constant(graph, 1.0F)}, attrs);
    EXPECT_EQ(graph.status().code(), Code::kInvalidArgument);
    EXPECT_THAT(graph.status().message(),
                HasSubstr(str_cat("Attr ", name, " has value 4294967297 out of range for an int32")));
  }
}

}  // namespace
}  // namespace argosy
