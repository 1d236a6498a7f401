// Faults that only the system can make: a process killed while it saves, a file that cannot grow.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <new>
#include <random>
#include <thread>

#include "argosy/base/system/test_files.h"
#include "argosy/base/threads/test_no_threads.h"
#include "argosy/formats/checkpoint/checkpoint_directory.h"
#include "argosy/formats/checkpoint/saver.h"

namespace argosy::tf {
namespace {

constexpr const char* kChildDirectory = "ARGOSY_SAVER_TEST_DIRECTORY";

std::vector<NamedTensor> model(std::int64_t step) {
  std::vector<NamedTensor> tensors;
  for (int i = 0; i < 8; ++i) {
    Tensor t = Tensor::zeros(DType::kInt64, {20'000});
    for (auto& v : t.values<std::int64_t>()) v = step;
    tensors.push_back({str_cat("t", i), std::move(t)});
  }
  return tensors;
}

// Not a test but the child of the next one: saves step after step and notes each that was reported durable.
TEST(SaverChild, SavesUntilItIsKilled) {
  const char* directory = std::getenv(kChildDirectory);
  if (directory == nullptr) return;
  const auto latest = latest_checkpoint(directory);
  auto saver = *Saver::open({.directory = directory, .max_to_keep = 2});
  File reported = *File::append(join_path(directory, "reported"));
  for (std::int64_t step = latest.ok() ? latest->step + 1 : 1;; ++step) {
    ASSERT_TRUE(saver->save(step, model(step)).ok());
    ASSERT_TRUE(reported.write(str_cat(step, "\n")).ok());
  }
}

TEST(Saver, KilledWhileSavingLosesNothingThatWasReported) {
  TempDirectory temp;
  const std::string directory = temp.path("run");
  ASSERT_TRUE(make_directories(directory).ok());
  ASSERT_EQ(setenv(kChildDirectory, directory.c_str(), 1), 0);
  std::mt19937 random(11);
  std::int64_t reached = 0;
  for (int round = 0; round < 12; ++round) {
    std::string args[] = {"/proc/self/exe", "--gtest_filter=SaverChild.*"};
    char* argv[] = {args[0].data(), args[1].data(), nullptr};
    posix_spawn_file_actions_t quiet;
    posix_spawn_file_actions_init(&quiet);
    posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&quiet, 2, "/dev/null", O_WRONLY, 0);
    pid_t child = 0;
    ASSERT_EQ(posix_spawn(&child, argv[0], &quiet, nullptr, argv, environ), 0);
    posix_spawn_file_actions_destroy(&quiet);
    // It must have begun, or nothing is tested; then any moment will do.
    const auto lines = [&] {
      return str_split(read_file(join_path(directory, "reported"), 1 << 20).value_or(""), '\n').size();
    };
    const auto before = lines();
    for (int wait = 0; wait < 20'000 && lines() < before + 1; ++wait) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 30'000));
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the child ended by itself";

    const std::vector<std::string> reported = str_split(*read_file(join_path(directory, "reported"), 1 << 20), '\n');
    const std::int64_t last = std::atoll(reported[reported.size() - 2].c_str());
    const auto latest = latest_checkpoint(directory);
    ASSERT_TRUE(latest.ok()) << latest.status().to_string();
    EXPECT_TRUE(latest->skipped.empty());
    EXPECT_GE(latest->step, last);
    EXPECT_LE(latest->step, last + 1);
    const auto reader = CheckpointReader::open(latest->prefix);
    EXPECT_EQ(reader->read("t7")->data<std::int64_t>()[19'999], latest->step);
    EXPECT_GT(latest->step, reached);
    reached = latest->step;
  }
  unsetenv(kChildDirectory);
  auto saver = *Saver::open({.directory = directory, .max_to_keep = 2});
  ASSERT_TRUE(saver->save(1'000'000, model(1)).ok());
  // Two checkpoints of two files, state, lock, and the child's notes: nothing is left of the killed ones.
  EXPECT_EQ(list_directory(directory)->size(), 7u);
}

TEST(Saver, AFileThatCannotGrowIsAnErrorAndLeavesNothing) {
  TempDirectory temp;
  auto saver = *Saver::open({.directory = temp.path()});
  ASSERT_TRUE(saver->save(1, {{{"small", Tensor::scalar(1.0f)}}}).ok());
  rlimit before = {};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small = {1 << 20, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const Status status = saver->save(2, {{{"large", Tensor::zeros(DType::kFloat32, {1 << 20})}}});
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_EQ(status.code(), Code::kResourceExhausted) << status.to_string();
  EXPECT_EQ(list_directory(temp.path())->size(), 4u);
  EXPECT_EQ(latest_checkpoint(temp.path())->step, 1);
}

TEST(Saver, AnExceptionOfItsThreadIsAFailedSave) {
  TempDirectory temp;
  bool memory = true;
  auto saver = *Saver::open({.directory = temp.path(), .io_hook = [&](std::string_view operation, const std::string&) {
                               if (!memory && operation == "rename") throw std::bad_alloc();
                               return ok_status();
                             }});
  ASSERT_TRUE(saver->save(1, model(1)).ok());
  memory = false;
  ASSERT_TRUE(saver->save_async(2, model(2)).ok());
  EXPECT_EQ(saver->wait().code(), Code::kResourceExhausted);
  EXPECT_EQ(saver->status().failures, 1);
  EXPECT_EQ(saver->status().last_error.code(), Code::kResourceExhausted);
  memory = true;
  ASSERT_TRUE(saver->save_async(3, model(3)).ok());
  EXPECT_TRUE(saver->wait().ok());
  EXPECT_EQ(latest_checkpoint(temp.path())->step, 3);
}

TEST(Saver, AThreadThatCannotStartIsAnErrorOfSaveAsync) {
  TempDirectory temp;
  auto saver = *Saver::open({.directory = temp.path()});
  {
    const NoThreads none;
    const Status refused = saver->save_async(1, {{{"x", Tensor::scalar(1.0f)}}});
    EXPECT_EQ(refused.id(), "ARG-THREAD-001") << refused.to_string();
    EXPECT_TRUE(saver->wait().ok()) << "nothing is under way";
  }
  ASSERT_TRUE(saver->save_async(2, {{{"x", Tensor::scalar(1.0f)}}}).ok());
  EXPECT_TRUE(saver->wait().ok());
  EXPECT_EQ(latest_checkpoint(temp.path())->step, 2);
}

}  // namespace
}  // namespace argosy::tf
