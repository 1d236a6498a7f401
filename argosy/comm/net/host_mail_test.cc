// Messages between tasks of one host: order, full rings, ends, and mailboxes that hold nonsense. Tasks are threads here;
// net_processes_test.cc has processes.
#include "argosy/comm/net/host_mail.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <random>
#include <thread>

#include "argosy/base/clock.h"
#include "argosy/base/str.h"

namespace argosy {
namespace {

using Mails = std::vector<std::unique_ptr<HostMail>>;
constexpr Mailbox::Kind kPiece = Mailbox::Kind::kPiece;

// Mailboxes of so many tasks, all open to each other.
Mails connected(int tasks, std::chrono::milliseconds timeout = std::chrono::seconds(30)) {
  Mails mails;
  for (int task = 0; task < tasks; ++task) {
    auto made = HostMail::make(task, tasks, timeout);
    EXPECT_TRUE(made.ok()) << made.status().to_string();
    mails.push_back(*std::move(made));
  }
  for (int task = 0; task < tasks; ++task) {
    for (int other = 0; other < tasks; ++other) {
      if (other == task) continue;
      EXPECT_TRUE(
          mails[static_cast<std::size_t>(task)]->open(other, mails[static_cast<std::size_t>(other)]->address()));
    }
  }
  return mails;
}

#define NEEDS_MAIL()                                                   \
  if (auto a = HostMail::make(0, 2, {}), b = HostMail::make(1, 2, {}); \
      !a.ok() || !b.ok() || !(*a)->open(1, (*b)->address()))           \
  GTEST_SKIP() << "this system has no shared memory of that kind"

std::string text_of(int from, std::uint32_t tag, int number, std::size_t bytes) {
  std::string text = str_cat(from, "/", tag, "/", number, " ");
  text.resize(bytes, static_cast<char>('a' + number % 26));
  return text;
}

TEST(HostMail, MessagesOfEachSenderAndTagComeInOrder) {
  NEEDS_MAIL();
  constexpr int kTasks = 3, kTags = 4, kMessages = 400;
  const Mails mails = connected(kTasks);
  const auto size_of = [](std::uint32_t tag, int number) {
    return std::mt19937(tag * 1000 + static_cast<unsigned>(number))() % Mailbox::kMostBytes + 1;
  };
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int task = 0; task < kTasks; ++task) {
    HostMail& mail = *mails[static_cast<std::size_t>(task)];
    for (std::uint32_t tag = 0; tag < kTags; ++tag) {
      threads.emplace_back([&mail, &wrong, &size_of, task, tag] {
        for (int number = 0; number < kMessages; ++number) {
          const std::size_t bytes = size_of(tag, number);
          for (int other = 0; other < kTasks; ++other) {
            if (other != task)
              wrong += !mail.send(other, tag, kPiece, text_of(task, tag, number, bytes).data(), bytes).ok();
          }
          for (int other = 0; other < kTasks; ++other) {
            if (other == task) continue;
            std::string come(bytes, '\0');
            wrong += !mail.receive(other, tag, kPiece, come.data(), bytes).ok() ||
                     come != text_of(other, tag, number, bytes);
          }
        }
      });
    }
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(HostMail, TasksThatBothSendBeforeTheyReceiveDoNotWaitForEachOther) {
  NEEDS_MAIL();
  constexpr int kMessages = 500;  // 4 MB each way, through rings of 64 KiB
  const Mails mails = connected(2);
  std::vector<std::thread> threads;
  for (int task = 0; task < 2; ++task) {
    threads.emplace_back([&, task] {
      HostMail& mail = *mails[static_cast<std::size_t>(task)];
      std::string text(Mailbox::kMostBytes, 'x');
      for (int number = 0; number < kMessages; ++number) {
        text[0] = static_cast<char>(number % 100);
        ASSERT_TRUE(mail.send(1 - task, 1, kPiece, text.data(), text.size()).ok());
      }
      for (int number = 0; number < kMessages; ++number) {
        ASSERT_TRUE(mail.receive(1 - task, 1, kPiece, text.data(), text.size()).ok());
        ASSERT_EQ(text[0], static_cast<char>(number % 100));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(HostMail, ASleeperIsWoken) {
  NEEDS_MAIL();
  const Mails mails = connected(2);
  for (int times = 0; times < 20; ++times) {
    std::int64_t sent = 0, came = 0;
    std::thread waits([&] {
      char c = 0;
      EXPECT_TRUE(mails[0]->receive(1, 5, kPiece, &c, 1).ok());
      came = now_nanos();
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // longer than it spins
    sent = now_nanos();
    EXPECT_TRUE(mails[1]->send(0, 5, kPiece, "x", 1).ok());
    waits.join();
    EXPECT_LT(came - sent, 5'000'000'000);
  }
}

TEST(HostMail, AMessageOfAnotherSizeIsAnError) {
  NEEDS_MAIL();
  const Mails mails = connected(2);
  ASSERT_TRUE(mails[1]->send(0, 1, kPiece, "abc", 3).ok());
  char to[4];
  EXPECT_EQ(mails[0]->receive(1, 1, kPiece, to, 4).id(), "ARG-COMM-029");
}

TEST(HostMail, AMessageOfAnotherKindIsAnError) {
  NEEDS_MAIL();
  const Mails mails = connected(2);
  ASSERT_TRUE(mails[1]->send(0, 1, Mailbox::Kind::kAddress, "12345678", 8).ok());
  char to[8];
  EXPECT_EQ(mails[0]->receive(1, 1, kPiece, to, 8).id(), "ARG-COMM-029");
}

TEST(HostMail, SilenceEndsAtTheDeadline) {
  NEEDS_MAIL();
  const Mails mails = connected(2, std::chrono::milliseconds(200));
  char c = 0;
  const std::int64_t began = now_nanos();
  EXPECT_EQ(mails[0]->receive(1, 1, kPiece, &c, 1).id(), "ARG-COMM-024");
  EXPECT_GT(seconds_since(began), 0.15);
}

TEST(HostMail, AFullRingOfATaskThatReadsNothingEndsAtTheDeadline) {
  NEEDS_MAIL();
  const Mails mails = connected(2, std::chrono::milliseconds(200));
  const std::string text(Mailbox::kMostBytes, 'x');
  Status status;
  int sent = 0;
  for (; status.ok(); ++sent) status = mails[0]->send(1, 1, kPiece, text.data(), text.size());
  EXPECT_EQ(status.id(), "ARG-COMM-024") << status.to_string();
  EXPECT_GE(sent, 7);
  EXPECT_LE(sent, 9);
}

TEST(HostMail, WhatWasSentBeforeTheEndStillComes) {
  NEEDS_MAIL();
  Mails mails = connected(2);
  ASSERT_TRUE(mails[1]->send(0, 1, kPiece, "x", 1).ok());
  mails[1].reset();
  char c = 0;
  EXPECT_TRUE(mails[0]->receive(1, 1, kPiece, &c, 1).ok());
  const Status status = mails[0]->receive(1, 1, kPiece, &c, 1);
  EXPECT_EQ(status.id(), "ARG-COMM-025");
  EXPECT_THAT(status.message(), testing::HasSubstr("task 1 has ended"));
}

TEST(HostMail, AnAbortEndsTheWaitsForItsTaskAndThoseOfWhoAbortsThen) {
  NEEDS_MAIL();
  const Mails mails = connected(3);
  std::vector<std::thread> waits;
  std::atomic<int> ended = 0;
  for (const auto& [task, from] : {std::pair(0, 1), {1, 2}, {2, 0}, {1, 0}}) {
    waits.emplace_back([&, task = task, from = from] {
      char c = 0;
      ended += mails[static_cast<std::size_t>(task)]->receive(from, 1, kPiece, &c, 1).id() == "ARG-COMM-025";
      mails[static_cast<std::size_t>(task)]->abort();
    });
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const std::int64_t began = now_nanos();
  mails[2]->abort();
  for (std::thread& thread : waits) thread.join();
  EXPECT_EQ(ended, 4);
  EXPECT_LT(seconds_since(began), 10);
  EXPECT_EQ(mails[2]->send(0, 1, kPiece, "x", 1).id(), "ARG-COMM-025");
  EXPECT_EQ(mails[0]->lives(2).id(), "ARG-COMM-025");
}

TEST(HostMail, OtherFilesAreNoMailboxes) {
  NEEDS_MAIL();
  auto mail = *HostMail::make(0, 2, std::chrono::seconds(1)), other = *HostMail::make(1, 2, std::chrono::seconds(1));
  auto of_three = *HostMail::make(1, 3, std::chrono::seconds(1));
  const Mailbox::Address good = other->address();
  Mailbox::Address bad = good;
  EXPECT_FALSE(mail->open(1, of_three->address()));
  bad.secret[1] ^= 1;
  EXPECT_FALSE(mail->open(1, bad));
  bad = good;
  bad.file = 0;
  EXPECT_FALSE(mail->open(1, bad));
  bad.file = 987654;
  EXPECT_FALSE(mail->open(1, bad));
  bad = good;
  bad.process = 0;
  EXPECT_FALSE(mail->open(1, bad));
  bad.process = 99999999;
  EXPECT_FALSE(mail->open(1, bad));
  bad = good;
  bad.network += 1;
  EXPECT_FALSE(mail->open(1, bad));
  EXPECT_FALSE(mail->is_open(1));
  EXPECT_TRUE(mail->open(1, good));
  other->close_file();
  EXPECT_FALSE(of_three->open(0, good));
}

// Whatever another task writes into its ring is a message or an error: nothing is read beyond the ring.
TEST(HostMail, NonsenseInARingIsAnError) {
  NEEDS_MAIL();
  std::mt19937 random(7);
  int refused = 0;
  for (int times = 0; times < 200; ++times) {
    auto mail = *HostMail::make(0, 2, std::chrono::milliseconds(1)),
         other = *HostMail::make(1, 2, std::chrono::seconds(1));
    ASSERT_TRUE(mail->open(1, other->address()));
    const auto size = static_cast<std::size_t>(::lseek(static_cast<int>(mail->address().file), 0, SEEK_END));
    auto* const at = static_cast<std::byte*>(
        ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, static_cast<int>(mail->address().file), 0));
    ASSERT_NE(at, MAP_FAILED);
    // The ring of task 1: its positions, then bytes.
    const std::size_t ring = 4096 + (size - 4096) / 2;
    for (std::size_t i = 0; i < 128 + 4096; i += 4) {
      const auto word = static_cast<std::uint32_t>(times % 3 == 0 ? random() : random() % 20000 << (i % 8 * 4));
      if (i >= 128 || (i < 8 && times % 2 == 0)) std::memcpy(at + ring + i, &word, sizeof word);
    }
    if (times % 2 == 1) {
      const std::uint64_t written = random() % 70000;
      std::memcpy(at + ring, &written, sizeof written);
    }
    char c = 0;
    const Status status = mail->receive(1, 1, kPiece, &c, 1);
    EXPECT_FALSE(status.ok());
    refused += status.id() == "ARG-COMM-029";
    ::munmap(at, size);
  }
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace argosy
