#include "argosy/ops/iterator/iterator_state.h"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "argosy/op/state/resource_manager.h"

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

// 0, 1, 2 …: what it keeps is how often it was called.
class Counting final : public FunctionCall {
 public:
  Result<std::vector<Tensor>> run(std::span<const Tensor>, Cancellation*) override {
    return std::vector<Tensor>{Tensor::scalar(calls_++)};
  }
  bool keeps_state() const override { return true; }
  Result<std::shared_ptr<FunctionCall>> anew() const override {
    return std::shared_ptr<FunctionCall>(std::make_shared<Counting>());
  }
  const std::vector<DType>& parameters() const override { return none_; }
  const std::vector<DType>& returns() const override { return one_; }

 private:
  std::int64_t calls_ = 0;
  const std::vector<DType> none_, one_ = {DType::kInt64};
};

// What f() gives, without an end.
class Called final : public DatasetValue {
 public:
  explicit Called(std::shared_ptr<FunctionCall> f)
      : DatasetValue("Called", {DType::kInt64}, {PartialShape::scalar()}), f_(std::move(f), {}) {}
  Result<IteratorPtr> iterate(const IteratorContext& context) const override {
    return IteratorPtr(std::make_unique<Iterator>(self<Called>(), context));
  }

 private:
  class Iterator final : public DatasetIterator {
   public:
    Iterator(std::shared_ptr<const Called> d, const IteratorContext& context) : d_(std::move(d)), context_(context) {}
    Result<bool> next(Element& out) override {
      ARGOSY_ASSIGN_OR_RETURN(out, d_->f_({}, context_));
      return true;
    }

   private:
    const std::shared_ptr<const Called> d_;
    const IteratorContext context_;
  };
  const Captured f_;
};

// Random numbers that a map draws are those of its first pass, in every pass; and go on where a pass is restored.
TEST(IteratorState, FunctionsBeginAnewWithEachPass) {
  const auto dataset = std::make_shared<Called>(std::make_shared<Counting>());
  IteratorState one({DType::kInt64}, {PartialShape::scalar()}, host_allocator());
  IteratorState other({DType::kInt64}, {PartialShape::scalar()}, host_allocator());
  const auto next = [](IteratorState& state) -> std::int64_t {
    Answer answer;
    state.next(nullptr, answer.got());
    const auto result = answer.wait();
    return result.ok() ? *(*result)[0].data<std::int64_t>() : -1;
  };
  ASSERT_TRUE(one.initialize(dataset).ok());
  ASSERT_TRUE(other.initialize(dataset).ok());
  for (std::int64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(next(one), i);
    EXPECT_EQ(next(other), i);
  }
  const auto saved = other.save();
  ASSERT_TRUE(saved.ok()) << saved.status().to_string();
  ASSERT_TRUE(one.initialize(dataset).ok());
  EXPECT_EQ(next(one), 0);
  ASSERT_TRUE(one.restore(*saved).ok());
  EXPECT_EQ(next(one), 3);
}

// A dataset whose function captured a handle.
class Capturing final : public DatasetValue {
 public:
  explicit Capturing(std::shared_ptr<Resource> captured)
      : DatasetValue("Capturing", {DType::kInt64}, {PartialShape::scalar()}), captured_(std::move(captured)) {}
  Result<IteratorPtr> iterate(const IteratorContext& context) const override { return Slow(3).iterate(context); }

 private:
  const std::shared_ptr<Resource> captured_;
};

TEST(IteratorState, GoesAlsoWhereItsDatasetCapturedIt) {
  ResourceManager manager;
  const auto make = [&] {
    const auto state =
        manager
            .find_or_make<IteratorState>("localhost", "it",
                                         [] {
                                           return std::make_shared<IteratorState>(
                                               std::vector<DType>{DType::kInt64},
                                               std::vector<PartialShape>{PartialShape::scalar()}, host_allocator());
                                         })
            .value();
    EXPECT_TRUE(state->initialize(std::make_shared<Capturing>(state)).ok());
    Answer answer;
    state->next(nullptr, answer.got());
    EXPECT_TRUE(answer.wait().ok());
    return std::weak_ptr<IteratorState>(state);
  };
  const auto cleared = make();
  manager.clear();
  EXPECT_TRUE(cleared.expired());
  // The thread that gave the element may be at its last moves yet: then it is in use, and the next try finds it idle.
  const auto state = make().lock();
  while (state->in_use()) std::this_thread::yield();
  ASSERT_TRUE(manager.remove("localhost", "it").ok());
  Answer after;
  state->next(nullptr, after.got());
  EXPECT_EQ(after.wait().status().code(), Code::kNotFound) << "its pass has ended";
}

TEST(IteratorState, BeginsNoMoreOnceItIsDeleted) {
  IteratorState state({DType::kInt64}, {PartialShape::scalar()}, host_allocator());
  ASSERT_TRUE(state.initialize(std::make_shared<Slow>(3)).ok());
  const auto saved = state.save();
  ASSERT_TRUE(saved.ok()) << saved.status().to_string();
  state.release_contents();
  EXPECT_EQ(state.initialize(std::make_shared<Slow>(3)).code(), Code::kNotFound);
  EXPECT_EQ(state.save().status().code(), Code::kNotFound);
  EXPECT_EQ(state.restore(*saved).code(), Code::kNotFound);
}

}  // namespace
}  // namespace argosy::datasets
