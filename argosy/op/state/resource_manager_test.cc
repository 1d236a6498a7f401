#include "argosy/op/state/resource_manager.h"

#include <gtest/gtest.h>

namespace argosy {
namespace {

struct Thing final : Resource {
  std::string describe() const override { return "thing"; }
};

TEST(ResourceManager, OneContainerIsItsOwnAndOthersAreThoseAroundIt) {
  const auto around = std::make_shared<ResourceManager>();
  ResourceManager inner(around, "own");
  const auto make = [] { return std::make_shared<Thing>(); };
  const auto own = inner.find_or_make<Thing>("own", "x", make).value();
  const auto shared = inner.find_or_make<Thing>("other", "x", make).value();
  EXPECT_NE(around->find_or_make<Thing>("own", "x", make).value(), own);
  EXPECT_EQ(around->find<Thing>("other", "x").value(), shared);
  EXPECT_EQ(inner.list("own").size(), 1u);
  EXPECT_EQ(inner.list("own")[0].second, own);
  EXPECT_EQ(inner.list("other")[0].second, shared);
  const auto before = inner.generation();
  ASSERT_TRUE(inner.remove("other", "x").ok());
  EXPECT_GT(inner.generation(), before);
  EXPECT_EQ(around->find<Thing>("other", "x").status().code(), Code::kNotFound);
  inner.clear("own");
  EXPECT_EQ(inner.find<Thing>("own", "x").status().code(), Code::kNotFound);
  EXPECT_TRUE(around->find<Thing>("own", "x").ok());
}

}  // namespace
}  // namespace argosy
