// Issue 31: a failed check, std::bad_alloc or a thread that cannot start ended the process, with all its clients.
#include "argosy/base/guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <new>
#include <stdexcept>
#include <system_error>

#include "argosy/base/memory/host_budget.h"
#include "argosy/base/memory/host_memory.h"
#include "argosy/base/threads/blocking_pool.h"
#include "argosy/base/threads/cancel_link.h"
#include "argosy/base/threads/parallel.h"

namespace argosy {
namespace {

using testing::HasSubstr;

TEST(Guard, AFailedCheckIsAnErrorWithExpressionFileAndLine) {
  const Status status = guarded([]() -> Status {
    ARGOSY_CHECK(1 + 1 == 3);
    return ok_status();
  });
  EXPECT_EQ(status.code(), Code::kInternal);
  EXPECT_EQ(status.id(), "ARG-BUG-001");
  EXPECT_THAT(status.message(), HasSubstr("1 + 1 == 3 (argosy/base/guard_test.cc:"));
  EXPECT_THAT(status.hint(), HasSubstr("report"));
}

TEST(GuardDeathTest, OutsideOfAScopeItEndsTheProcess) {
  { const CheckScope over; }
  EXPECT_DEATH(ARGOSY_CHECK(1 + 1 == 3), "check failed: 1 \\+ 1 == 3");
}

TEST(Guard, WhatTheLibraryThrowsHasACode) {
  EXPECT_EQ(guarded([]() -> Status { throw std::bad_alloc(); }).code(), Code::kResourceExhausted);
  EXPECT_EQ(guarded([]() -> Status { throw std::length_error("long"); }).code(), Code::kResourceExhausted);
  EXPECT_EQ(guarded([]() -> Result<int> { throw std::runtime_error("x"); }).status().code(), Code::kInternal);
  const Status thread = guarded(
      []() -> Status { throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again)); });
  EXPECT_EQ(thread.code(), Code::kResourceExhausted);
  EXPECT_EQ(thread.id(), "ARG-THREAD-001");
}

// Every member of the team throws at once, or one alone: the caller gets one of them, and the next loop works.
TEST(Guard, AnExceptionLeavesTheTeamThroughItsCaller) {
  const int before = thread_budget();
  set_thread_budget(4);
  for (const std::int64_t bad : {0, 3, -1}) {
    const Status status = guarded([&]() -> Status {
      parallel_for(4, 1, [&](std::int64_t begin, std::int64_t) { ARGOSY_CHECK(bad >= 0 && begin != bad); });
      return ok_status();
    });
    EXPECT_EQ(status.id(), "ARG-BUG-001") << bad;
    std::atomic<int> done{0};
    parallel_for(4, 1, [&](std::int64_t begin, std::int64_t end) { done += static_cast<int>(end - begin); });
    EXPECT_EQ(done, 4);
  }
  set_thread_budget(before);
}

TEST(Guard, WhoGoesAwayWithATaskIsToldWhatItThrew) {
  struct Owner {
    explicit Owner(Status* told) : told_(told) {}
    ~Owner() { *told_ = thrown_by_task(); }
    Status* const told_;
  };
  Status told;
  {
    BlockingPool pool;
    ASSERT_TRUE(pool.schedule([owner = std::make_shared<Owner>(&told)] { throw std::bad_alloc(); }).ok());
  }
  EXPECT_EQ(told.code(), Code::kResourceExhausted);
  EXPECT_TRUE(thrown_by_task().ok());
}

TEST(HostBudget, AboveTheLimitIsRefusedWithAllNumbers) {
  HostBudget budget;
  const auto limit = budget.with_limit(std::int64_t{1} << 30);
  auto first = budget.reserve(HostUse::kFiles, 100 << 20, "the contents of f");
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(budget.in_use(), 100 << 20);
  const auto second = budget.reserve(HostUse::kStrings, std::int64_t{3} << 30, "strings of node 's'");
  EXPECT_EQ(second.status().code(), Code::kResourceExhausted);
  EXPECT_EQ(second.status().id(), "ARG-MEM-004");
  EXPECT_THAT(second.status().message(), testing::AllOf(HasSubstr("strings of node 's'"), HasSubstr("3.0 GiB"),
                                                        HasSubstr("files 100.0 MiB"), HasSubstr("1.0 GiB")));
  EXPECT_THAT(second.status().hint(), HasSubstr("--mem cpu:0"));
  EXPECT_FALSE(budget.check(std::int64_t{1} << 30, "it").ok());
  first->give_back();
  EXPECT_EQ(budget.in_use(), 0);
  EXPECT_TRUE(budget.check(std::int64_t{1} << 30, "it").ok());
}

TEST(HostBudget, AQuarterOfMemoryUnlessSet) {
  HostBudget budget;
  {
    const auto small = budget.with_limit(100);
    EXPECT_EQ(budget.limit(), 100);
    const auto large = budget.with_limit(200);
    EXPECT_EQ(budget.limit(), 200);
  }
  EXPECT_EQ(budget.limit(), memory_of_process() / 4);
  EXPECT_FALSE(budget.reserve(HostUse::kGraphs, memory_of_process() / 4 + 1, "it").ok());
  {
    auto moved = *budget.reserve(HostUse::kGraphs, 10, "it");
    HostBudget::Reservation to = std::move(moved);
    EXPECT_EQ(budget.in_use(), 10);
    to = HostBudget::Reservation();
    EXPECT_EQ(budget.in_use(), 0);
  }
  EXPECT_EQ(budget.in_use(), 0);
}

TEST(Guard, ThereIsAlwaysAnErrorForNoMemory) {
  std::vector<Status> many;
  for (int i = 0; i < 200; ++i) many.push_back(no_memory());  // more than the reserve has
  for (const Status& status : many) {
    EXPECT_EQ(status.code(), Code::kResourceExhausted);
    EXPECT_EQ(status.id(), "ARG-MEM-003");
  }
  EXPECT_EQ(copy_of(aborted("why")).to_string(), aborted("why").to_string());
  EXPECT_TRUE(copy_of(ok_status()).ok());
}

TEST(Guard, WhatACallbackThrowsReachesItsLastOwner) {
  struct Owner {
    Status* told;
    ~Owner() { *told = thrown_by_task(); }
  };
  Status told;
  std::function<void(int)> done = [owner = std::make_shared<Owner>(Owner{&told})](int) { throw std::bad_alloc(); };
  told = ok_status();  // of the owner that was moved from
  call_and_release(done, "a test", 1);
  EXPECT_FALSE(static_cast<bool>(done));
  EXPECT_EQ(told.code(), Code::kResourceExhausted);
  EXPECT_TRUE(thrown_by_task().ok());
}

TEST(Guard, IsTriedAgainUntilThereIsMemory) {
  int tries = 0;
  const int got = once_there_is_memory([&] {
    if (++tries < 4) throw std::bad_alloc();
    return 17;
  });
  EXPECT_EQ(got, 17);
  EXPECT_EQ(tries, 4);
}

TEST(Guard, ACallbackGoesWithItsLink) {
  Cancellation cancellation;
  int called = 0;
  EXPECT_EQ(guarded([&]() -> Status {
              const CancelLink link(&cancellation, [&] { ++called; });
              EXPECT_FALSE(link.too_late());
              throw std::bad_alloc();
            }).code(),
            Code::kResourceExhausted);
  cancellation.cancel(aborted("late"));
  EXPECT_EQ(called, 0);
  EXPECT_TRUE(CancelLink(&cancellation, [] {}).too_late());
  EXPECT_FALSE(CancelLink(nullptr, [] {}).too_late());
}

}  // namespace
}  // namespace argosy
