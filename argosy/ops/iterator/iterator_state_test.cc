#include "argosy/ops/iterator/iterator_state.h"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

namespace argosy::datasets {
namespace {

using namespace std::chrono_literals;

// 0, 1, 2 …, each after a moment.
class Slow final : public DatasetValue {
 public:
  explicit Slow(std::int64_t count) : DatasetValue("Slow", {DType::kInt64}, {PartialShape::scalar()}), count_(count) {}
  Result<IteratorPtr> iterate(const IteratorContext& context) const override {
    return IteratorPtr(std::make_unique<Iterator>(count_, context));
  }

 private:
  class Iterator final : public DatasetIterator {
   public:
    Iterator(std::int64_t count, const IteratorContext& context) : count_(count), context_(context) {}
    Result<bool> next(Element& out) override {
      if (i_ == count_) return false;
      std::this_thread::sleep_for(i_ % 3 * 300us);
      out.assign(1, Tensor::scalar(i_++));
      return true;
    }
    bool ready() override { return i_ % 4 == 3; }

   private:
    const std::int64_t count_;
    const IteratorContext context_;
    std::int64_t i_ = 0;
  };
  const std::int64_t count_;
};

// Waits for the one answer.
class Answer {
 public:
  Pipeline::Got got() {
    return [this](Result<Element> result) {
      const std::lock_guard lock(mutex_);
      EXPECT_FALSE(result_.has_value()) << "answered twice";
      result_.emplace(std::move(result));
      come_.notify_all();
    };
  }
  Result<Element> wait() {
    std::unique_lock lock(mutex_);
    come_.wait(lock, [this] { return result_.has_value(); });
    return *result_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable come_;
  std::optional<Result<Element>> result_;
};

TEST(IteratorState, LosesNoElementWithThoseWhoGiveUp) {
  IteratorState state({DType::kInt64}, {PartialShape::scalar()}, host_allocator());
  ASSERT_TRUE(state.initialize(std::make_shared<Slow>(150)).ok());
  std::int64_t expected = 0;
  int given_up = 0;
  for (int i = 0;; ++i) {
    Cancellation cancellation;
    Answer answer;
    std::thread impatient([&, i] {
      std::this_thread::sleep_for(i % 7 * 100us);
      if (i % 2 == 0) cancellation.cancel(cancelled("enough"));
    });
    state.next(&cancellation, answer.got());
    const Result<Element> result = answer.wait();
    impatient.join();
    if (result.ok()) {
      ASSERT_EQ(*(*result)[0].data<std::int64_t>(), expected++);
    } else if (result.status().code() == Code::kOutOfRange) {
      break;
    } else {
      ASSERT_EQ(result.status().code(), Code::kCancelled) << result.status().to_string();
      ++given_up;
    }
  }
  EXPECT_EQ(expected, 150);
  EXPECT_GT(given_up, 0);
}

TEST(IteratorState, AnswersEverybodyWhenItStartsOverOrGoes) {
  auto state = std::make_unique<IteratorState>(std::vector<DType>{DType::kInt64},
                                               std::vector<PartialShape>{PartialShape::scalar()}, host_allocator());
  ASSERT_TRUE(state->initialize(std::make_shared<Slow>(1000)).ok());
  std::vector<Answer> first(20), second(20);
  for (Answer& a : first) state->next(nullptr, a.got());
  ASSERT_TRUE(state->initialize(std::make_shared<Slow>(1000)).ok());
  for (Answer& a : second) state->next(nullptr, a.got());
  state = nullptr;
  for (std::vector<Answer>* answers : {&first, &second}) {
    for (Answer& a : *answers) {
      const Status status = a.wait().status();
      EXPECT_TRUE(status.ok() || status.code() == Code::kCancelled) << status.to_string();
    }
  }
}

TEST(IteratorState, MayGoOnItsOwnThread) {
  for (int i = 0; i < 50; ++i) {
    Answer answer;
    auto state = std::make_shared<IteratorState>(std::vector<DType>{DType::kInt64},
                                                 std::vector<PartialShape>{PartialShape::scalar()}, host_allocator());
    ASSERT_TRUE(state->initialize(std::make_shared<Slow>(1000)).ok());
    const auto got = answer.got();
    auto* const raw = state.get();
    raw->next(nullptr, [state = std::move(state), got](Result<Element> result) mutable {
      state = nullptr;
      got(std::move(result));
    });
    EXPECT_TRUE(answer.wait().ok());
  }
}

TEST(IteratorState, GivesOnlyWhatItDeclares) {
  IteratorState state({DType::kFloat32}, {PartialShape::scalar()}, host_allocator());
  EXPECT_EQ(state.initialize(std::make_shared<Slow>(1)).message(),
            "Data type mismatch at component 0: expected float but got int64.");
  IteratorState vector({DType::kInt64}, {PartialShape{2}}, host_allocator());
  EXPECT_EQ(vector.initialize(std::make_shared<Slow>(1)).message(),
            "Incompatible shapes at component 0: expected [2] but got [].");
  IteratorState two({DType::kInt64, DType::kInt64}, {{}, {}}, host_allocator());
  EXPECT_EQ(two.initialize(std::make_shared<Slow>(1)).message(),
            "Number of components does not match: expected 2 types but got 1.");
}

}  // namespace
}  // namespace argosy::datasets
