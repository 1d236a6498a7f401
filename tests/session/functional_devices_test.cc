// Functional control flow over devices, and when things go wrong in it.
#include <chrono>
#include <thread>

#include "argosy/ops/debug/debug.h"
#include "argosy/ops/gather/gather.h"
#include "tests/session/functional_test.h"

namespace argosy {
namespace {

class FunctionalDevices : public FunctionalTest {
 protected:
  FunctionalDevices() : FunctionalTest({.devices = {.emulate = "2"}}) {}
  auto on(int gpu) { return graph_.device(str_cat("/gpu:", gpu)); }
};

//   gpu:0: sin(v) ──► gpu:1: · x ──► next iteration
TEST_F(FunctionalDevices, LoopsSpanDevices) {
  const Value x = input({2});
  const auto last = while_loop(
      {integer(0), x}, [&](const auto& v) { return less(v[0], 5); },
      [&](const auto& v) {
        Value half, whole;
        {
          const auto here = on(0);
          half = sin(v[1]);
        }
        {
          const auto here = on(1);
          whole = half * x;
        }
        return std::vector<Value>{v[0] + 1, whole};
      });
  feed(x, Tensor::vector<double>({0.5, 1.5}));
  ASSERT_TRUE(try_run(last[1]).ok()) << try_run(last[1]).status().to_string();
  const auto report = session_.placement({{x, Shape{2}}}, {last[1]}, {});
  ASSERT_TRUE(report.ok());
  EXPECT_THAT(report->summary(), testing::AllOf(HasSubstr("GPU:0"), HasSubstr("GPU:1")));
}

TEST_F(FunctionalDevices, GradientsOfLoopsSpanDevices) {
  const Value x = input();
  const auto last = while_loop(
      {integer(0), x}, [&](const auto& v) { return less(v[0], 3); },
      [&](const auto& v) {
        Value half, whole;
        {
          const auto here = on(0);
          half = sin(v[1]);
        }
        {
          const auto here = on(1);
          whole = cond_value(
              greater(half, 0), [&] { return half * x; }, [&] { return half + x; });
        }
        return std::vector<Value>{v[0] + 1, whole};
      });
  check_gradient(last[1], x, {0.7, -1.2});
}

TEST_F(FunctionalDevices, BranchesRunWhereTheyAreAskedTo) {
  const Value x = input();
  const auto branch = [&](int gpu, double by) {
    return [this, gpu, by, x] {
      const auto here = on(gpu);
      return x * by;
    };
  };
  const Value y = cond_value(greater(x, 0), branch(0, 2), branch(1, 3));
  check_gradient(y, x, {1.5, -1.5});
  feed(x, -2);
  EXPECT_EQ(run(y), -6);
}

TEST_F(FunctionalDevices, ManyRunsAtOnce) {
  const Value x = input();
  const auto last = while_loop(
      {integer(0), x}, [&](const auto& v) { return less(v[0], 20); },
      [&](const auto& v) {
        const auto here = on(0);
        return std::vector<Value>{v[0] + 1, v[1] * 2};
      });
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        const auto out = session_.run({{x, Tensor::scalar(double(t))}}, {last[1]});
        ASSERT_TRUE(out.ok()) << out.status().to_string();
        EXPECT_EQ(*out->at(0).data<double>(), t * double(1 << 20));
      }
    });
  }
  for (std::thread& t : threads) t.join();
}

// Only what is taken runs: the other branch would fail, and in the loop it does as soon as its turn has come.
TEST_F(FunctionalDevices, WhatIsNotTakenDoesNotRun) {
  const Value x = input();
  const auto fails_below = [&](Value v, double limit) {
    return cond_value(
        less(v, limit), [&] { return with_dependencies({assert_true(constant(graph_, false), {v})}, v); },
        [&] { return v * 2; });
  };
  const Value y = fails_below(x, 0);
  feed(x, 1);
  EXPECT_EQ(run(y), 2);
  feed(x, -1);
  EXPECT_THAT(try_run(y).status().message(), HasSubstr("assertion failed: [-1]"));
  feed(x, 1);
  EXPECT_EQ(run(y), 2) << "the session stays usable";
}

TEST_F(FunctionalDevices, AnErrorInABodyNamesItsNode) {
  const Value table = constant(graph_, Tensor::vector<double>({1, 2, 3}));
  const Value n = placeholder(graph_, DType::kInt32, PartialShape::scalar(), "n");
  const auto last = while_loop(
      {integer(0), real(0)}, [&](const auto& v) { return less(v[0], n); },
      [&](const auto& v) {
        const Value row = graph_.add("GatherV2", {table, v[0], integer(0)}, {}, "row");
        return std::vector<Value>{v[0] + 1, v[1] + row};
      },
      {.name = "total"});
  feed(n, Tensor::scalar(std::int32_t{3}));
  EXPECT_EQ(run(last[1]), 6);
  feed(n, Tensor::scalar(std::int32_t{4}));
  const auto out = session_.run(feeds_, {last[1]});
  EXPECT_EQ(out.status().code(), Code::kInvalidArgument);
  EXPECT_THAT(out.status().where(), HasSubstr("'total/body/row' (GatherV2)")) << out.status().to_string();
}

TEST_F(FunctionalDevices, EndlessLoopsCanBeStopped) {
  const auto last = while_loop(
      {real(1)}, [&](const auto& v) { return greater(v[0], 0); },
      [&](const auto& v) { return std::vector<Value>{v[0] * 1}; });
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(session_.run({}, last, {}, {.timeout = std::chrono::milliseconds(50)}).status().code(),
            Code::kDeadlineExceeded);
  Cancellation cancellation;
  std::thread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    cancellation.cancel(cancelled("enough"));
  });
  EXPECT_EQ(session_.run({}, last, {}, {.cancellation = &cancellation}).status().code(), Code::kCancelled);
  stopper.join();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

// Iterations end in order and take their memory along.
TEST_F(FunctionalDevices, LongLoopsKeepTheirMemory) {
  const Value x = input({256});
  const auto last = while_loop(
      {integer(0), x}, [&](const auto& v) { return less(v[0], 500); },
      [&](const auto& v) {
        const auto here = on(1);
        return std::vector<Value>{v[0] + 1, v[1] + 1};
      });
  feed(x, Tensor::zeros(DType::kFloat64, {256}));
  ASSERT_TRUE(session_.run(feeds_, {last[1]}).ok());
  const auto peak = [&] { return session_.device_set().device(2).allocator().stats().peak_bytes; };
  const auto before = peak();
  EXPECT_LT(before, std::uint64_t{256} * 8 * 50) << "500 iterations of 2 KiB each";
  ASSERT_TRUE(session_.run(feeds_, {last[1]}).ok());
  EXPECT_LT(peak(), before + 256 * 8);
}

}  // namespace
}  // namespace argosy
