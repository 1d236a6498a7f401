#include "argosy/base/threads/library_threads.h"

#include <gtest/gtest.h>

#include "argosy/base/threads/parallel.h"

namespace argosy {
namespace {

TEST(DeterministicScope, GivesLibrariesOneThreadAndKeepsTheBudget) {
  const int before = thread_budget();
  set_thread_budget(3);
  EXPECT_EQ(library_threads(), 3);
  {
    const DeterministicScope on(true);
    EXPECT_EQ(library_threads(), 1);
    EXPECT_EQ(thread_budget(), 3);
    {
      const ThreadLimit limit(2);
      EXPECT_EQ(library_threads(), 1);
      EXPECT_EQ(thread_budget(), 2);
      const DeterministicScope off(false);  // another session's work in between
      EXPECT_EQ(library_threads(), 2);
    }
    set_thread_budget(5);
    EXPECT_EQ(library_threads(), 1);
  }
  EXPECT_EQ(library_threads(), 5);
  set_thread_budget(before);
}

}  // namespace
}  // namespace argosy
