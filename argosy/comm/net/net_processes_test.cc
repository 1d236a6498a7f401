// Tasks as processes: what the others see of one that dies, stops or never comes.
#include <gmock/gmock.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "argosy/base/clock.h"
#include "argosy/comm/net/net_test_support.h"

namespace argosy {
namespace {

using ::testing::HasSubstr;

// Processes 1 to size - 1 run `body`, as task 0 does in this one. Their exit code says whether they did.
class Processes {
 public:
  Processes(int size, const std::function<int(int rank, const NetAddressBook&)>& body) : size_(size) {
    char folder[] = "/tmp/argosy_net_XXXXXX";
    folder_ = mkdtemp(folder);
    for (int rank = 1; rank < size_; ++rank) {
      const pid_t child = fork();
      if (child == 0) _exit(body(rank, folder_book(folder_)));
      children_.push_back(child);
    }
  }
  ~Processes() {
    for (const pid_t child : children_) {
      kill(child, SIGKILL);
      int status = 0;
      waitpid(child, &status, 0);
    }
    std::filesystem::remove_all(folder_);
  }
  NetAddressBook book() const { return folder_book(folder_); }
  pid_t pid(int rank) const { return children_[static_cast<std::size_t>(rank) - 1]; }
  // The exit code; 128 and more: a signal.
  int wait(int rank) {
    int status = 0;
    waitpid(pid(rank), &status, 0);
    children_[static_cast<std::size_t>(rank) - 1] = -1;
    std::erase(children_, -1);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  const int size_;
  std::string folder_;
  std::vector<pid_t> children_;
};

// All-reduces until an error comes; 7: the connection was lost, 8: another error.
int reduce_until_error(NetGroup& group, std::int64_t elements, int dies_at = -1) {
  const Tensor t = Tensor::zeros(DType::kFloat32, {elements});
  for (int step = 0;; ++step) {
    if (step == dies_at) raise(SIGKILL);
    const Status status = group.all_reduce({&t, 1}, Reduction::kSum, {.name = "sum"});
    if (!status.ok()) return status.id() == "ARG-COMM-025" ? 7 : 8;
  }
}

TEST(NetProcesses, AKilledTaskEndsAllOthersAtOnce) {
  if (!has_gloo()) GTEST_SKIP() << "no Gloo plug-in in this build";
  constexpr std::int64_t kSmall = 1000, kMiddle = 100'000, kLarge = 16 << 20;
  for (const auto& [size, elements] :
       {std::pair(2, kMiddle), {3, kMiddle}, {4, kMiddle}, {2, kLarge}, {3, kLarge}, {3, kSmall}}) {
    Processes processes(size, [&](int rank, const NetAddressBook& book) {
      const auto group = connect(rank, size, book);
      return group == nullptr ? 9 : reduce_until_error(*group, elements, rank == 1 ? 20 : -1);
    });
    const auto group = connect(0, size, processes.book());
    ASSERT_NE(group, nullptr);
    const std::int64_t began = now_nanos();
    EXPECT_EQ(reduce_until_error(*group, elements), 7) << group->cause().to_string();
    EXPECT_LT(seconds_since(began), 10);
    EXPECT_THAT(group->cause().to_string(), HasSubstr("ARG-COMM-025"));
    for (int rank = size - 1; rank >= 2; --rank) EXPECT_EQ(processes.wait(rank), 7) << rank << " of " << size;
  }
}

Result<std::unique_ptr<NetEngine>> engine_of_two(int rank, const NetAddressBook& book) {
  return open_gloo({.rank = rank,
                    .size = 2,
                    .address = "127.0.0.1",
                    .group = "engine",
                    .book = book,
                    .timeout = std::chrono::seconds(10)});
}

// Starts to receive a value from task 0, and is stopped before a byte of it comes.
int receive_and_stop(const NetAddressBook& book, std::size_t bytes) {
  const auto engine = engine_of_two(1, book);
  if (!engine.ok()) return 9;
  std::thread stops([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    raise(SIGSTOP);
  });
  std::vector<std::byte> value(bytes);
  const NetEngine::Piece piece{0, value.data(), bytes};
  const Status status = (*engine)->exchange({}, {&piece, 1}, 1);
  stops.join();
  return status.ok() ? 0 : 7;
}

TEST(NetProcesses, AbortEndsASendThatIsHalfDone) {
  if (!has_gloo()) GTEST_SKIP() << "no Gloo plug-in in this build";
  constexpr std::size_t kBytes = 32 << 20;  // more than sockets hold
  const char* const asked = std::getenv("ARGOSY_HOST_READS");
  const std::string as_asked = asked == nullptr ? "" : asked;
  for (const auto& [lost, reads] : {std::pair(false, "0"), {true, "0"}, {false, "1"}, {true, "1"}}) {
    setenv("ARGOSY_HOST_READS", reads, 1);
    Processes processes(2, [](int, const NetAddressBook& book) { return receive_and_stop(book, kBytes); });
    const auto engine = engine_of_two(0, processes.book());
    ASSERT_TRUE(engine.ok()) << engine.status().to_string();
    int stopped = 0;
    ASSERT_EQ(waitpid(processes.pid(1), &stopped, WUNTRACED), processes.pid(1));
    ASSERT_TRUE(WIFSTOPPED(stopped));
    std::vector<std::byte> value(kBytes);
    const NetEngine::Piece piece{1, value.data(), kBytes};
    std::thread other([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      if (lost) kill(processes.pid(1), SIGKILL);
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      (*engine)->abort();
    });
    const std::int64_t began = now_nanos();
    const Status status = (*engine)->exchange({&piece, 1}, {}, 1);
    EXPECT_EQ(status.id(), "ARG-COMM-025") << status.to_string();
    EXPECT_GT(seconds_since(began), 0.2) << "the send did not wait: this shows nothing";
    EXPECT_LT(seconds_since(began), 5);
    other.join();
    asked == nullptr ? unsetenv("ARGOSY_HOST_READS") : setenv("ARGOSY_HOST_READS", as_asked.c_str(), 1);
  }
}

TEST(NetProcesses, SilenceEndsAtTheDeadline) {
  if (!has_gloo()) GTEST_SKIP() << "no Gloo plug-in in this build";
  Processes processes(2, [&](int rank, const NetAddressBook& book) {
    const auto group = connect(rank, 2, book);
    raise(SIGSTOP);
    return 0;
  });
  const auto group = connect(0, 2, processes.book(), std::chrono::milliseconds(700));
  ASSERT_NE(group, nullptr);
  const std::int64_t began = now_nanos();
  const Status status = group->barrier();
  EXPECT_EQ(status.id(), "ARG-COMM-024") << status.to_string();
  EXPECT_GT(seconds_since(began), 0.3);
  EXPECT_LT(seconds_since(began), 5);
}

TEST(NetProcesses, ATaskThatNeverComesIsNamed) {
  if (!has_gloo()) GTEST_SKIP() << "no Gloo plug-in in this build";
  MemoryBook book;
  const auto engine = open_gloo({.rank = 0,
                                 .size = 2,
                                 .address = "127.0.0.1",
                                 .group = "alone",
                                 .book = book.book(),
                                 .timeout = std::chrono::milliseconds(300)});
  ASSERT_FALSE(engine.ok());
  EXPECT_EQ(engine.status().id(), "ARG-COMM-023");
  EXPECT_THAT(engine.status().to_string(), HasSubstr("alone/pairs/1"));
}

TEST(NetPlugin, AMissingOneSaysWhatToInstall) {
  setenv("ARGOSY_GLOO_PLUGIN", "none", 1);
  const auto none = open_gloo({});
  setenv("ARGOSY_GLOO_PLUGIN", "/dev/null", 1);
  const auto broken = open_gloo({});
  unsetenv("ARGOSY_GLOO_PLUGIN");
  EXPECT_EQ(none.status().id(), "ARG-COMM-020");
  EXPECT_THAT(none.status().to_string(), HasSubstr("apt install libgloo-dev"));
  EXPECT_EQ(broken.status().id(), "ARG-COMM-021");
}

}  // namespace
}  // namespace argosy
