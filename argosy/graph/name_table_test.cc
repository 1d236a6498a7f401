#include "argosy/graph/name_table.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace argosy {
namespace {

// Random names of few kinds, so that they meet: the table and a map always say the same.
TEST(NameTable, KnowsWhoHasWhichName) {
  std::mt19937 random(3);
  NameTable table;
  NamePool pool;
  NodeArray nodes;
  std::map<std::string, int> expected;  // the node; -1: reserved
  for (int step = 0; step < 20000; ++step) {
    const std::string name = "name" + std::to_string(random() % 300);
    const auto known = expected.find(name);
    switch (random() % 5) {
      case 0: {
        const std::string unique = table.unique(name, nodes);
        EXPECT_EQ(unique == name, known == expected.end());
        EXPECT_TRUE(unique.starts_with(name));
        EXPECT_TRUE(expected.emplace(unique, -1).second) << unique;
        break;
      }
      case 1:
      case 2: {
        nodes.push_back({.name = pool.add(name)});
        const bool free = known == expected.end() || known->second < 0;
        ASSERT_EQ(table.add_last(nodes), free);
        if (!free) {
          nodes.pop_back();
          break;
        }
        expected[name] = static_cast<int>(nodes.size()) - 1;
        if (random() % 4 == 0) {
          table.take_from_last(nodes);
          nodes.pop_back();
          expected[name] = -1;
        }
        break;
      }
      case 3: {
        const auto found = table.find(name, nodes);
        ASSERT_EQ(found ? found->index : -1, known == expected.end() ? -1 : known->second);
        break;
      }
      case 4: {
        if (random() % 200 != 0) break;  // half of the nodes go, the others close ranks
        NodeArray kept;
        for (std::size_t i = 0; i < nodes.size(); ++i) {
          if (random() % 2 == 0) {
            expected.erase(std::string(nodes[i].name));
            continue;
          }
          expected[nodes[i].name] = static_cast<int>(kept.size());
          kept.push_back(std::move(nodes[i]));
        }
        nodes = std::move(kept);
        table.index(nodes);
        break;
      }
    }
  }
  EXPECT_GT(nodes.size(), 20U);
}

}  // namespace
}  // namespace argosy
