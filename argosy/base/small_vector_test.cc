#include "argosy/base/small_vector.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace argosy {
namespace {

using Strings = SmallVector<std::string, 2>;

std::string text(int i) { return "a text that is longer than what lies in line " + std::to_string(i); }

// Random operations, on it and on a std::vector: always the same elements.
TEST(SmallVector, DoesWhatAVectorDoes) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    Strings list;
    std::vector<std::string> expected;
    for (int step = 0; step < 60; ++step) {
      const std::string value = text(static_cast<int>(random() % 5));
      const std::size_t at = expected.empty() ? 0 : random() % expected.size();
      switch (random() % 9) {
        case 0:
        case 1:
          list.push_back(value);
          expected.push_back(value);
          break;
        case 2:
          list.insert(list.begin() + at, value);
          expected.insert(expected.begin() + static_cast<std::ptrdiff_t>(at), value);
          break;
        case 3:
          if (expected.empty()) break;
          list.erase(list.begin() + at);
          expected.erase(expected.begin() + static_cast<std::ptrdiff_t>(at));
          break;
        case 4: EXPECT_EQ(erase(list, value), std::erase(expected, value)); break;
        case 5: {
          const std::size_t size = random() % 6;
          list.resize(size, value);
          expected.resize(size, value);
          break;
        }
        case 6: {
          const std::vector<std::string> more = {text(8), text(9)};
          list.insert(list.begin() + at, more.begin(), more.end());
          expected.insert(expected.begin() + static_cast<std::ptrdiff_t>(at), more.begin(), more.end());
          break;
        }
        case 7: {
          Strings moved = std::move(list);
          EXPECT_TRUE(list.empty());
          list = Strings(moved);
          EXPECT_EQ(list, moved);
          moved.push_back(value);
          list = moved;
          expected.push_back(value);
          break;
        }
        case 8:
          if (expected.empty()) break;
          list.push_back(list.front());  // of its own elements, also when it grows
          expected.push_back(expected.front());
          break;
      }
      ASSERT_EQ(list, Strings(expected));
      ASSERT_EQ(std::vector<std::string>(list), expected);
    }
  }
}

TEST(SmallVector, FewElementsLieInLine) {
  SmallVector<int, 3> list = {1, 2, 3};
  const auto* const begin = reinterpret_cast<const char*>(&list);
  const auto* const first = reinterpret_cast<const char*>(list.data());
  EXPECT_TRUE(first >= begin && first < begin + sizeof list);
  list.push_back(4);
  const auto* const moved = reinterpret_cast<const char*>(list.data());
  EXPECT_FALSE(moved >= begin && moved < begin + sizeof list);
  EXPECT_EQ(list, (SmallVector<int, 3>{1, 2, 3, 4}));
}

TEST(SmallVector, ListsOnTheHeapMoveAsAWhole) {
  SmallVector<int, 1> list = {1, 2, 3};
  const int* const data = list.data();
  const SmallVector<int, 1> moved = std::move(list);
  EXPECT_EQ(moved.data(), data);
  EXPECT_TRUE(list.empty());
}

}  // namespace
}  // namespace argosy
