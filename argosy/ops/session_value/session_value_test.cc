#include "argosy/ops/session_value/session_value.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "argosy/ops/constant/constant.h"
#include "argosy/ops/evaluate.h"
#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

TEST(SessionValues, KeptReadDeleted) {
  Graph g;
  const Value x = constant(g, Tensor::vector<float>({1, 2}));
  const Value keep = session_handle(x), handle = placeholder(g, DType::kString, PartialShape::scalar());
  const Value read = session_value(handle, DType::kFloat32), wrong = session_value(handle, DType::kInt32);
  const Value drop = delete_session_value(handle);
  const Value other = g.add("GetSessionHandleV2", {x});
  ASSERT_TRUE(g.status().ok()) << g.status().to_string();
  ResourceManager session;
  const auto run = [&](Value v, const Tensor& given) {
    return evaluate(g, {{handle.endpoint(), given}}, {v.endpoint()}, {.resources = &session});
  };
  const auto first = run(keep, Tensor::scalar("")), second = run(keep, Tensor::scalar(""));
  ASSERT_TRUE(first.ok() && second.ok()) << first.status().to_string();
  EXPECT_NE(*first->at(0).data<std::string>(), *second->at(0).data<std::string>());
  const auto value = run(read, first->at(0));
  ASSERT_TRUE(value.ok()) << value.status().to_string();
  EXPECT_EQ(difference(value->at(0), Tensor::vector<float>({1, 2}), 0), "");
  EXPECT_EQ(run(wrong, first->at(0)).status().code(), Code::kInvalidArgument);
  EXPECT_TRUE(run(drop, first->at(0)).ok());
  EXPECT_THAT(run(read, first->at(0)).status().message(), testing::HasSubstr("is not in the session store"));
  EXPECT_EQ(run(drop, first->at(0)).status().code(), Code::kInvalidArgument);
  EXPECT_TRUE(run(read, second->at(0)).ok());
  EXPECT_EQ(run(other, second->at(0))->at(0).dtype(), DType::kResource);
}

}  // namespace
}  // namespace argosy
