#include "argosy/formats/checkpoint/saver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "argosy/base/system/test_files.h"
#include "argosy/formats/checkpoint/checkpoint_directory.h"

namespace argosy::tf {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<NamedTensor> model(float value) {
  return {{"w", Tensor::of<float>({3}, {value, value, value})}, {"name", Tensor::scalar("x")}};
}
float value_of(const std::string& prefix) {
  const auto reader = CheckpointReader::open(prefix);
  return reader.ok() ? reader->read("w")->data<float>()[0] : -1;
}

TEST(Saver, RotatesAndKeepsTensorFlowsStateFile) {
  TempDirectory temp;
  auto saver = *Saver::open({.directory = temp.path("run"), .max_to_keep = 2});
  for (const int step : {10, 20, 30}) ASSERT_TRUE(saver->save(step, model(static_cast<float>(step))).ok());
  EXPECT_THAT(saver->kept(), ElementsAre(temp.path("run/model.ckpt-20"), temp.path("run/model.ckpt-30")));
  EXPECT_EQ(temp.read("run/checkpoint"),
            "model_checkpoint_path: \"model.ckpt-30\"\n"
            "all_model_checkpoint_paths: \"model.ckpt-20\"\n"
            "all_model_checkpoint_paths: \"model.ckpt-30\"\n");
  EXPECT_EQ(list_directory(temp.path("run"))->size(), 6u);  // lock, state, 2 x (index, data)
  EXPECT_EQ(saver->status().last_step, 30);
  ASSERT_TRUE(saver->save(30, model(31)).ok());  // the same step again replaces it
  EXPECT_EQ(saver->kept().size(), 2u);
  EXPECT_EQ(value_of(temp.path("run/model.ckpt-30")), 31);
  saver.reset();

  // The next run goes on where this one stopped.
  saver = *Saver::open({.directory = temp.path("run/"), .max_to_keep = 2});
  EXPECT_EQ(saver->kept().size(), 2u);
  ASSERT_TRUE(saver->save(40, model(40)).ok());
  EXPECT_EQ(list_checkpoints(temp.path("run"))->size(), 2u);
}

TEST(Saver, TheFolderBelongsToOne) {
  TempDirectory temp;
  auto saver = *Saver::open({.directory = temp.path()});
  EXPECT_EQ(Saver::open({.directory = temp.path()}).status().code(), Code::kAborted);
  saver.reset();
  EXPECT_TRUE(Saver::open({.directory = temp.path()}).ok());
  EXPECT_EQ(Saver::open({}).status().code(), Code::kInvalidArgument);
}

TEST(Saver, AsynchronousSaveKeepsTheValuesOfItsMoment) {
  TempDirectory temp;
  std::atomic<bool> hold = true;
  const IoHook slow = [&](std::string_view, const std::string&) {
    while (hold) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return ok_status();
  };
  auto saver = *Saver::open({.directory = temp.path(), .io_hook = slow});
  std::vector<NamedTensor> tensors = model(1);
  ASSERT_TRUE(saver->save_async(1, tensors).ok());
  EXPECT_TRUE(saver->status().saving);
  tensors[0].tensor.data<float>()[0] = 99;  // training goes on
  tensors[1].tensor.data<std::string>()[0] = "y";
  hold = false;
  ASSERT_TRUE(saver->wait().ok());
  EXPECT_FALSE(saver->status().saving);
  EXPECT_EQ(value_of(temp.path("model.ckpt-1")), 1);
  for (int step = 2; step < 20; ++step) {
    tensors[0].tensor.data<float>()[0] = static_cast<float>(step);
    ASSERT_TRUE(saver->save_async(step, tensors).ok());
  }
  ASSERT_TRUE(saver->save_async_owned(20, model(20)).ok());
  ASSERT_TRUE(saver->wait().ok());
  EXPECT_EQ(saver->status().saves, 20);
  EXPECT_EQ(value_of(temp.path("model.ckpt-19")), 19);
  EXPECT_EQ(value_of(temp.path("model.ckpt-20")), 20);
}

TEST(Saver, AFailedSaveIsToldAndTheNextWorks) {
  TempDirectory temp;
  std::atomic<bool> full = false;
  const IoHook hook = [&](std::string_view operation, const std::string& path) {
    return full && operation == "write" ? resource_exhausted("write ", path, ": no space left") : ok_status();
  };
  auto saver = *Saver::open({.directory = temp.path(), .io_hook = hook});
  ASSERT_TRUE(saver->save(1, model(1)).ok());
  full = true;
  ASSERT_TRUE(saver->save_async(2, model(2)).ok());
  EXPECT_EQ(saver->wait().code(), Code::kResourceExhausted);
  EXPECT_TRUE(saver->wait().ok());  // told once
  EXPECT_EQ(saver->status().failures, 1);
  EXPECT_EQ(saver->status().last_error.code(), Code::kResourceExhausted);
  EXPECT_EQ(latest_checkpoint(temp.path())->step, 1);
  EXPECT_EQ(list_directory(temp.path())->size(), 4u);  // nothing left behind
  full = false;
  ASSERT_TRUE(saver->save_async(3, model(3)).ok());
  EXPECT_TRUE(saver->wait().ok());
  EXPECT_EQ(latest_checkpoint(temp.path())->step, 3);
}

// Stop at every operation of a save that replaces an old checkpoint: afterwards there is always a whole one, and the
// next saver works and leaves no rubbish.
TEST(Saver, KilledAtAnyOperationSomethingWholeRemains) {
  for (int k = 0;; ++k) {
    TempDirectory temp;
    int count = 0;
    const IoHook crash = [&](std::string_view operation, const std::string& path) {
      return count++ >= k ? unavailable("killed before ", operation, " ", path) : ok_status();
    };
    {
      auto saver = *Saver::open({.directory = temp.path(), .max_to_keep = 1, .durable = false});
      ASSERT_TRUE(saver->save(1, model(1)).ok());
    }
    Status status;
    {
      auto saver = *Saver::open({.directory = temp.path(), .max_to_keep = 1, .io_hook = crash});
      status = saver->save(2, model(2));
    }
    const auto latest = latest_checkpoint(temp.path());
    ASSERT_TRUE(latest.ok()) << k << ": " << latest.status().to_string();
    EXPECT_TRUE(latest->skipped.empty()) << k;
    EXPECT_EQ(value_of(latest->prefix), static_cast<float>(latest->step));
    if (status.ok()) {
      EXPECT_EQ(latest->step, 2) << k;
    }
    const auto state = read_checkpoint_state(temp.path());
    ASSERT_TRUE(state.ok());
    EXPECT_GE(value_of(state->latest), 0) << "the state file names something that is gone, operation " << k;
    {
      auto saver = *Saver::open({.directory = temp.path(), .max_to_keep = 1});
      ASSERT_TRUE(saver->save(3, model(3)).ok());
      EXPECT_EQ(list_directory(temp.path())->size(), 4u) << k;
    }
    if (count <= k) {
      EXPECT_GT(k, 12);
      break;
    }
  }
}

TEST(CheckpointState, ADamagedFileHasAnErrorOfItsOwnAndHidesNoCheckpoint) {
  TempDirectory temp;
  auto saver = *Saver::open({.directory = temp.path()});
  ASSERT_TRUE(saver->save(1, model(1)).ok());
  temp.write("checkpoint", "model_checkpoint_path: \"model.ckpt-1");
  EXPECT_EQ(read_checkpoint_state(temp.path()).status().id(), "ARG-CKPT-014");
  EXPECT_EQ(latest_checkpoint(temp.path())->step, 1);
}

TEST(LatestCheckpoint, SkipsDamagedOnesAndSaysSo) {
  TempDirectory temp;
  EXPECT_EQ(latest_checkpoint(temp.path()).status().code(), Code::kNotFound);
  {
    auto saver = *Saver::open({.directory = temp.path()});
    for (const int step : {5, 90, 100}) ASSERT_TRUE(saver->save(step, model(1)).ok());
  }
  EXPECT_EQ(latest_checkpoint(temp.path())->step, 100);
  temp.write("model.ckpt-100.data-00000-of-00001", "short");
  const auto latest = latest_checkpoint(temp.path());
  EXPECT_EQ(latest->step, 90);
  ASSERT_EQ(latest->skipped.size(), 1u);
  EXPECT_EQ(latest->skipped[0].why.code(), Code::kDataLoss);
  temp.write("model.ckpt-90.index", "");
  EXPECT_EQ(latest_checkpoint(temp.path())->step, 5);
  temp.write("checkpoint", "model_checkpoint_path: \"gar");  // damaged advice is no obstacle
  EXPECT_EQ(latest_checkpoint(temp.path())->step, 5);
  temp.write("model.ckpt-5.index", "rubbish");
  const Status none = latest_checkpoint(temp.path()).status();
  EXPECT_EQ(none.code(), Code::kDataLoss);
  EXPECT_THAT(none.message(), HasSubstr("model.ckpt-90"));
}

TEST(LatestCheckpoint, StateFileChoosesTheFamily) {
  TempDirectory temp;
  ASSERT_TRUE(write_checkpoint(temp.path("best-500"), model(1)).ok());
  ASSERT_TRUE(write_checkpoint(temp.path("run-20"), model(1)).ok());
  temp.write("checkpoint", "model_checkpoint_path: \"/elsewhere/run-20\"\nnew_field: 3\n");
  EXPECT_EQ(latest_checkpoint(temp.path())->step, 20);
  EXPECT_EQ(checkpoint_step("a-b-12"), 12);
  EXPECT_EQ(checkpoint_step("a--12"), 12);
  EXPECT_EQ(checkpoint_step("a-12x"), -1);
  EXPECT_EQ(checkpoint_step("a-"), -1);
  EXPECT_EQ(checkpoint_step("a"), -1);
}

}  // namespace
}  // namespace argosy::tf
