// Training over tasks whose GPUs sum by a fake NCCL. One set of communicators spans all tasks, and the numbers are those of
// one process. Where the tasks cannot connect, sums go through the hosts.
#include <gmock/gmock.h>

#include "argosy/comm/nccl/fake/fake_nccl.h"
#include "argosy/comm/net/net_test_support.h"
#include "argosy/train/tasks/test_job.h"
#include "tests/fake_gpu/support/fake_driver_kernels.h"
#include "tests/fake_gpu/support/small_training.h"

namespace argosy::cuda {
namespace {

// GPUs of all tasks, and one NCCL for them, which is asked for ordered sums too.
struct Gpus {
  explicit Gpus(int count, const fake::NcclFaults& faults = {})
      : nccl(faults), machine(fake::gpus_with_kernels(count), fake::with_kernels()) {
    setenv("ARGOSY_COLLECTIVES", "nccl", 1);
    machine.backend()->links().shared(
        "nccl", [&] { return std::make_shared<NcclAvailable>(Nccl::over(nccl.calls(), "libnccl.so.2")); });
  }
  ~Gpus() { unsetenv("ARGOSY_COLLECTIVES"); }
  DeviceRequest some(int first, int count) {
    std::string text;
    for (int g = first; g < first + count; ++g) text += str_cat(g == first ? "" : ",", "gpu:", g);
    return machine.request(text);
  }

  fake::FakeNccl nccl;
  fake::Machine machine;
};

Result<TrainReport> train(const DeviceRequest& devices, JobTasks* tasks, bool deterministic = false) {
  TrainerOptions options = small_training(devices, tasks);
  options.devices.deterministic = deterministic;
  return train_small(small_mlp(), std::move(options));
}

// Trains on tasks of so many GPUs each. The losses are those of one process with all of them.
void expect_one_process(Gpus& gpus, const std::vector<int>& counts, bool deterministic = false) {
  int all = 0;
  for (const int count : counts) all += count;
  const auto expected = train(gpus.some(0, all), nullptr, deterministic);
  ASSERT_TRUE(expected.ok()) << expected.status().to_string();
  run_job(static_cast<int>(counts.size()), [&](JobTasks& job) {
    int first = 0;
    for (int task = 0; task < job.rank(); ++task) first += counts[static_cast<std::size_t>(task)];
    const auto found = train(gpus.some(first, counts[static_cast<std::size_t>(job.rank())]), &job, deterministic);
    ASSERT_TRUE(found.ok()) << "task " << job.rank() << ": " << found.status().to_string();
    ASSERT_EQ(found->losses.size(), expected->losses.size());
    for (std::size_t i = 0; i < found->losses.size(); ++i) {
      EXPECT_NEAR(found->losses[i], expected->losses[i], 1e-5 * std::abs(expected->losses[i])) << i;
    }
  });
}

// Sums that NCCL makes while `work` runs.
int sums_in(Gpus& gpus, const std::function<void()>& work) {
  const int before = gpus.nccl.collectives();
  work();
  return gpus.nccl.collectives() - before;
}

TEST(NcclTasks, SumAllGradientsOfAllTasks) {
  if (!has_gloo()) GTEST_SKIP() << "no Gloo plug-in in this build";
  for (const std::vector<int>& counts : std::vector<std::vector<int>>{{1, 1}, {2, 2}, {1, 1, 1}}) {
    SCOPED_TRACE(str_cat(counts.size(), " tasks of ", counts[0]));
    int all = 0;
    for (const int count : counts) all += count;
    Gpus gpus(all);
    const int alone = sums_in(gpus, [&] { EXPECT_TRUE(train(gpus.some(0, all), nullptr).ok()); });
    const int both = sums_in(gpus, [&] { expect_one_process(gpus, counts); });
    // A trial and the gradients, in one process and over tasks.
    EXPECT_GT(alone, kSteps);
    EXPECT_EQ(both, 2 * alone);
    EXPECT_EQ(gpus.nccl.communicators(), 0) << "they end with their training";
  }
}

TEST(NcclTasks, LeaveOrderedSumsToTheHosts) {
  if (!has_gloo()) GTEST_SKIP() << "no Gloo plug-in in this build";
  Gpus gpus(4);
  EXPECT_EQ(sums_in(gpus, [&] { expect_one_process(gpus, {2, 2}, true); }), 0) << "deterministic";
  unsetenv("ARGOSY_COLLECTIVES");
  EXPECT_EQ(sums_in(gpus, [&] { expect_one_process(gpus, {2, 2}); }), 0) << "nobody asked for NCCL";
}

// Versions of NCCL wait for ever where tasks have different numbers of GPUs.
TEST(NcclTasks, GoByTheHostsWhereNumbersDiffer) {
  if (!has_gloo()) GTEST_SKIP() << "no Gloo plug-in in this build";
  Gpus gpus(3);
  const int alone = sums_in(gpus, [&] { EXPECT_TRUE(train(gpus.some(0, 3), nullptr).ok()); });
  EXPECT_EQ(sums_in(gpus, [&] { expect_one_process(gpus, {1, 2}); }), alone) << "in one process";
}

TEST(NcclTasks, GoByTheHostsWhereTheyCannotConnect) {
  if (!has_gloo()) GTEST_SKIP() << "no Gloo plug-in in this build";
  setenv("ARGOSY_COLLECTIVE_TIMEOUT", "1", 1);
  for (const fake::NcclFaults& faults : {fake::NcclFaults{.version = 20000}, fake::NcclFaults{.init_fails = true},
                                         fake::NcclFaults{.init_hangs = true}, fake::NcclFaults{.lies = true}}) {
    SCOPED_TRACE(str_cat("version ", faults.version, faults.init_fails, faults.init_hangs, faults.lies));
    Gpus gpus(2, faults);
    expect_one_process(gpus, {1, 1});
    EXPECT_EQ(gpus.nccl.communicators(), 0);
  }
  unsetenv("ARGOSY_COLLECTIVE_TIMEOUT");
}

// A GPU that stops in a sum ends the job on all tasks, with one cause.
TEST(NcclTasks, EndTheJobWhereASumDoesNotEnd) {
  if (!has_gloo()) GTEST_SKIP() << "no Gloo plug-in in this build";
  setenv("ARGOSY_COLLECTIVE_TIMEOUT", "2", 1);  // longer than a busy machine keeps a thread waiting
  Gpus gpus(2);
  std::atomic<int> told{0};
  std::thread later([&] {
    while (gpus.nccl.collectives() < 4) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    gpus.nccl.hang(1);
  });
  run_job(2, [&](JobTasks& job) {
    TrainerOptions options = small_training(gpus.some(job.rank(), 1), &job);
    options.steps = 1'000'000;
    const auto found = train_small(small_mlp(), std::move(options));
    EXPECT_FALSE(found.ok());
    if (found.status().id() == "ARG-COMM-004") ++told;
    if (!found.ok()) (void)job.fail(found.status());
  });
  later.join();
  EXPECT_GE(told, 1);
  EXPECT_EQ(gpus.nccl.communicators(), 0);
  unsetenv("ARGOSY_COLLECTIVE_TIMEOUT");
}

}  // namespace
}  // namespace argosy::cuda
