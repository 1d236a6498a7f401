// A task of TensorFlow 1.x in a loop with one of ours: a step waited until its client's timeout.
#include "argosy/tf/worker/shared_loops.h"

#include <gmock/gmock.h>

#include "argosy/formats/proto/worker.pb.h"
#include "argosy/testing/partition_case.h"

namespace argosy::tf {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kLoop = str_cat(kLoopOnTwoTasks, R"(
    y = Neg(out) @C
    -> y)");

// Who is asked by each task of this step.
std::map<std::string, std::vector<std::string>> asked(const std::string& step) {
  std::map<std::string, std::vector<std::string>> by_task;
  const std::vector<Partition> parts = cut(step).value();
  for (const Partition& part : parts) {
    const TaskName own = part.task == task_of_device(kDevices[0])   ? TaskName{"a", 0}
                         : part.task == task_of_device(kDevices[1]) ? TaskName{"b", 0}
                                                                    : TaskName{"b", 1};
    std::vector<std::string>& others = by_task[own.to_string()];
    const Status status = check_shared_loops(part.step, own, [&](const TaskName& task) {
      others.push_back(task.to_string());
      return true;
    });
    EXPECT_TRUE(status.ok()) << status.to_string();
  }
  return by_task;
}

TEST(SharedLoops, TasksAreAskedThatShareALoopAndNoOthers) {
  auto by_task = asked(kLoop);
  EXPECT_THAT(by_task["/job:a/replica:0/task:0"], ElementsAre("/job:b/replica:0/task:0"));
  EXPECT_THAT(by_task["/job:b/replica:0/task:0"], ElementsAre("/job:a/replica:0/task:0"));
  EXPECT_THAT(by_task["/job:b/replica:0/task:1"], ElementsAre());  // it takes what leaves the loop
  std::string alone = kLoop;
  alone.replace(alone.find("@B"), 2, "@A");
  for (const auto& [task, others] : asked(alone)) EXPECT_THAT(others, ElementsAre()) << task;
}

TEST(SharedLoops, ATaskOfTensorFlow1IsRefusedByName) {
  const std::vector<Partition> parts = cut(kLoop).value();
  const Status status = check_shared_loops(parts[0].step, {"a", 0}, [](const TaskName&) { return false; });
  EXPECT_EQ(status.id(), "ARG-PART-004");
  EXPECT_EQ(status.code(), Code::kUnimplemented);
  EXPECT_THAT(status.message(),
              HasSubstr("/job:b/replica:0/task:0, whose server numbers frames as TensorFlow before 2.5"));
}

TEST(SharedLoops, VersionsAreToldByWhatTheySay) {
  tensorflow::GetStatusResponse status;
  EXPECT_FALSE(numbers_frames_as_we(status));
  status.add_device_attributes()->set_name("/job:a/replica:0/task:0/device:CPU:0");
  EXPECT_FALSE(numbers_frames_as_we(status));  // TensorFlow 1.15
  status.mutable_device_attributes(0)->set_xla_global_id(-1);
  EXPECT_TRUE(numbers_frames_as_we(status));  // 2.21
  status.set_argosy_protocol(1);
  EXPECT_FALSE(numbers_frames_as_we(status));
  status.set_argosy_protocol(2);
  EXPECT_TRUE(numbers_frames_as_we(status));
}

}  // namespace
}  // namespace argosy::tf
