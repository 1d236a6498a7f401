// Functions of the program behind a graph, called by its steps: what comes back, errors, cancellation, and no program.
#include "argosy/op/kernel/host_callbacks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "argosy/ops/callback/callback.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/runtime/session/session.h"
#include "argosy/testing/op_cases/op_case.h"
#include "tests/session/support/test_session.h"

namespace argosy {
namespace {

using testing::HasSubstr;

// A program of three functions.
class Program final : public HostCallbacks {
 public:
  void call(const std::string& token, std::vector<Tensor> arguments, Cancellation* cancellation, Done done) override {
    ++calls;
    if (token == "twice") {
      const float x = *arguments[0].data<float>();
      return done(std::vector<Tensor>{Tensor::scalar(x * 2), Tensor::scalar("two")});
    }
    if (token == "fails") return done(out_of_range("no more"));
    thread = std::jthread([cancellation, done = std::move(done)] {
      while (!cancellation->cancelled()) std::this_thread::yield();
      done(cancellation->status());
    });
  }
  std::atomic<int> calls = 0;
  std::jthread thread;
};

class Callbacks : public testing::Test {
 protected:
  std::vector<Value> call(const std::string& token, const std::vector<DType>& dtypes) {
    return py_func(graph_, {x_}, token, dtypes);
  }
  Result<std::vector<Tensor>> run(const std::vector<Value>& fetches, RunOptions options = {}) {
    EXPECT_TRUE(graph_.status().ok()) << graph_.status().to_string();
    TestSession session(graph_, {.device_set = device_set_});
    return session.run({}, fetches, {}, options);
  }
  Graph graph_;
  const Value x_ = constant(graph_, 3.f);
  const std::shared_ptr<Program> program_ = std::make_shared<Program>();
  const std::shared_ptr<DeviceSet> device_set_ = *DeviceSet::make({.emulate = "1"});
};

TEST_F(Callbacks, GiveWhatTheFunctionGives) {
  device_set_->set_host_callbacks(program_);
  const std::vector<Value> out = call("twice", {DType::kFloat32, DType::kString});
  const auto got = run({out[0] + x_, out[1]});
  ASSERT_TRUE(got.ok()) << got.status().to_string();
  EXPECT_EQ(got->at(0).to_string(), "float[] {9}");
  EXPECT_EQ(*got->at(1).data<std::string>(), "two");
  EXPECT_EQ(program_->calls, 1);  // never when the graph is prepared, though its input is a constant
}

TEST_F(Callbacks, ErrorsAreTheFunctionsAndNameTheNode) {
  device_set_->set_host_callbacks(program_);
  const Status failed = run({call("fails", {DType::kFloat32})[0]}).status();
  EXPECT_EQ(failed.code(), Code::kOutOfRange);
  EXPECT_THAT(failed.to_string(), HasSubstr("no more"));
  EXPECT_THAT(failed.where(), HasSubstr("PyFunc"));
  EXPECT_THAT(run({call("twice", {DType::kFloat64, DType::kString})[0]}).status().message(),
              HasSubstr("0-th value returned by twice is float, but expects double"));
  EXPECT_THAT(run({call("twice", {DType::kFloat32})[0]}).status().message(),
              HasSubstr("twice returns 2 values, but expects to see 1 values."));
}

TEST_F(Callbacks, AStepThatIsGivenUpDoesNotWaitForTheFunction) {
  device_set_->set_host_callbacks(program_);
  const Status late = run({call("waits", {DType::kFloat32})[0]}, {.timeout = std::chrono::milliseconds(50)}).status();
  EXPECT_EQ(late.code(), Code::kDeadlineExceeded);
}

TEST_F(Callbacks, WithoutAProgramItIsSaid) {
  const Status nobody = run({call("twice", {DType::kFloat32, DType::kString})[0]}).status();
  EXPECT_EQ(nobody.code(), Code::kUnimplemented);
  EXPECT_EQ(nobody.id(), "ARG-CALL-001");
  EXPECT_THAT(nobody.hint(), HasSubstr("argosy run"));
}

}  // namespace
}  // namespace argosy
