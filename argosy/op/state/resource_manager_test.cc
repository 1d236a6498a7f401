#include "argosy/op/state/resource_manager.h"

#include <gtest/gtest.h>

#include "argosy/op/state/holder.h"

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

// What holds itself, as a queue that its own handle was put into.
struct Circle final : Resource, Holder {
  std::string describe() const override { return "circle"; }
  void release_contents() override { std::shared_ptr<Resource>().swap(held); }
  bool in_use() const override { return used; }

  std::shared_ptr<Resource> held;
  bool used = false;
};

TEST(ResourceManager, WhatGoesLetsGoOfItself) {
  const auto make = [](ResourceManager& manager) {
    const auto circle =
        manager.find_or_make<Circle>("localhost", "x", [] { return std::make_shared<Circle>(); }).value();
    circle->held = circle;
    return std::weak_ptr<Circle>(circle);
  };
  ResourceManager manager;
  const auto removed = make(manager);
  ASSERT_TRUE(manager.remove("localhost", "x").ok());
  EXPECT_TRUE(removed.expired());
  const auto cleared = make(manager);
  manager.clear("elsewhere");
  EXPECT_FALSE(cleared.expired());
  manager.clear("localhost");
  EXPECT_TRUE(cleared.expired());
  std::weak_ptr<Circle> last;
  {
    ResourceManager short_lived;
    last = make(short_lived);
  }
  EXPECT_TRUE(last.expired());
  // A step that waits for it keeps it; then nobody else can end the circle.
  const auto used = make(manager);
  used.lock()->used = true;
  ASSERT_TRUE(manager.remove("localhost", "x").ok());
  ASSERT_FALSE(used.expired());
  used.lock()->release_contents();
  EXPECT_TRUE(used.expired());
}

}  // namespace
}  // namespace argosy
