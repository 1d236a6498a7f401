// Every op says how it is sharded: by factors, or "whole" or "once" with a reason.
#include <gtest/gtest.h>

#include <cstdio>

#include "argosy/op/definition/sharding_rule.h"
#include "argosy/ops/ops.h"

namespace argosy {
namespace {

TEST(ShardingCoverage, EveryOpSaysHowItIsSharded) {
  std::vector<std::string> silent;
  int whole = 0, once = 0;
  for (const auto& op : builtin_ops().all()) {
    if (!has_sharding_rule(*op)) silent.push_back(op->name);
    whole += op->sharding.starts_with("whole") ? 1 : 0;
    once += op->sharding.starts_with("once") ? 1 : 0;
  }
  EXPECT_TRUE(silent.empty()) << "say .sharding = \"…\" beside the op (argosy/op/definition/sharding_text.h): "
                              << str_join(silent, " ");
  const auto all = static_cast<int>(builtin_ops().all().size());
  std::printf("%d ops: %d by factors, %d whole, %d once\n", all, all - whole - once - static_cast<int>(silent.size()),
              whole, once);
}

}  // namespace
}  // namespace argosy
