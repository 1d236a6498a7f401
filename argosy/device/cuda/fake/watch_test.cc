// Watch finds the mistakes planted in on_host_kernels_test.cu, and nothing else.
#include "argosy/device/cuda/fake/watch.h"

#include <dlfcn.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>

#include "argosy/device/cuda/fake/on_host_run.h"

namespace argosy::on_host {

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

template <typename T>
Range of(const std::vector<T>& v) {
  const auto at = reinterpret_cast<std::uintptr_t>(v.data());
  return {at, at + v.size() * sizeof(T)};
}

const Kernel& find(const std::string& name) {
  static void* const library = dlopen(ARGOSY_TEST_KERNELS, RTLD_NOW);
  ARGOSY_CHECK(library != nullptr);
  const void* const symbol = dlsym(library, (name + "_on_host").c_str());
  ARGOSY_CHECK(symbol != nullptr);
  return *static_cast<const Kernel*>(symbol);
}

// What is found in one launch that may touch `memory`, in order and in two other ones, which must find as much.
template <typename... A>
std::vector<std::string> watched(const std::string& name, std::vector<Range> memory, Dim3 grid, Dim3 block,
                                 A... arguments) {
  std::sort(memory.begin(), memory.end(), [](Range a, Range b) { return a.begin < b.begin; });
  std::vector<std::string> found;
  for (const std::uint64_t order : {0, 1, 2}) {
    Watch watch(memory);
    void* pointers[] = {&arguments...};
    const Kernel& kernel = find(name);
    EXPECT_EQ(kernel.parameters, static_cast<int>(sizeof...(A)));
    const Status status = run(kernel, grid, block, pointers, {.order = order, .watch = &watch});
    EXPECT_TRUE(status.ok()) << status.to_string();
    if (order == 0) found = watch.found();
    EXPECT_EQ(found.empty(), watch.found().empty()) << name << " in order " << order;
  }
  return found;
}

TEST(Watch, ABarrierOrdersABlock) {
  const std::vector<int> x(512, 1), y(512);
  EXPECT_THAT(watched("test_reverse", {of(x), of(y)}, {2}, {256}, x.data(), y.data()), IsEmpty());
  EXPECT_THAT(watched("test_reverse_at_once", {of(x), of(y)}, {2}, {256}, x.data(), y.data()),
              ::testing::Contains(HasSubstr("nothing orders the two")));
  EXPECT_THAT(watched("test_reverse_twice", {of(x), of(y)}, {1}, {64}, x.data(), y.data(), 1), IsEmpty());
  EXPECT_THAT(watched("test_reverse_twice", {of(x), of(y)}, {1}, {64}, x.data(), y.data(), 0), Not(IsEmpty()));
}

TEST(Watch, AtomicOperationsMeetAndOthersCollide) {
  const std::vector<int> y(1);
  EXPECT_THAT(watched("test_count", {of(y)}, {2}, {1}, y.data(), 1), IsEmpty());
  EXPECT_THAT(watched("test_count", {of(y)}, {1}, {2}, y.data(), 0), Not(IsEmpty()));
  EXPECT_THAT(watched("test_count", {of(y)}, {2}, {1}, y.data(), 0), Not(IsEmpty()));
  EXPECT_THAT(watched("test_count", {of(y)}, {1}, {1}, y.data(), 0), IsEmpty());
}

TEST(Watch, BlocksAreInNoOrder) {
  const std::vector<int> x(1), y(1);
  for (const int back : {0, 1}) {
    EXPECT_THAT(watched("test_blocks_meet", {of(x), of(y)}, {2}, {64}, x.data(), y.data(), back),
                ElementsAre(HasSubstr("of block")));
  }
}

TEST(Watch, AWarpIsOrderedByItsBarrierAndNotByShuffles) {
  const std::vector<int> y(64);
  EXPECT_THAT(watched("test_lanes_meet", {of(y)}, {1}, {64}, y.data(), 0), Not(IsEmpty()));
  EXPECT_THAT(watched("test_lanes_meet", {of(y)}, {1}, {64}, y.data(), 1), Not(IsEmpty()));
  EXPECT_THAT(watched("test_lanes_meet", {of(y)}, {1}, {64}, y.data(), 2), IsEmpty());
}

TEST(Watch, SharedMemoryIsFreshInEveryBlock) {
  const std::vector<int> y(2);
  EXPECT_THAT(watched("test_left_behind", {of(y)}, {1}, {1}, y.data()), IsEmpty());
  EXPECT_THAT(watched("test_left_behind", {of(y)}, {2}, {1}, y.data()),
              ElementsAre(HasSubstr("reads shared memory that no thread wrote")));
}

TEST(Watch, AShuffleAsksLanesThatAreThere) {
  const std::vector<int> y(64);
  EXPECT_THAT(watched("test_lane_left", {of(y)}, {1}, {32}, y.data()), IsEmpty());
  EXPECT_THAT(watched("test_lane_left", {of(y)}, {1}, {64}, y.data()), ElementsAre(HasSubstr("asks lane")));
  EXPECT_THAT(watched("test_lane_left", {of(y)}, {1}, {31}, y.data()), ElementsAre(HasSubstr("asks lane")));
}

TEST(Watch, NumbersReadTogetherWantTheirAlignment) {
  alignas(16) float x[24] = {}, y[24] = {};
  const auto all = [](const float* from) {
    const auto at = reinterpret_cast<std::uintptr_t>(from);
    return Range{at, at + sizeof x};
  };
  EXPECT_THAT(watched("test_copy_by_two", {all(x), all(y)}, {1}, {32}, 5LL, x, y), IsEmpty());
  EXPECT_THAT(watched("test_copy_by_two", {all(x), all(y)}, {1}, {32}, 5LL, x + 1, y),
              ElementsAre(HasSubstr("4 B beyond a multiple of 8 B")));
}

TEST(Watch, MemoryBeyondAnAllocationIsSeen) {
  const std::vector<float> x(100), y(100);
  EXPECT_THAT(watched("test_copy_one_more", {of(x), of(y)}, {2}, {64}, 99LL, x.data(), y.data()), IsEmpty());
  EXPECT_THAT(watched("test_copy_one_more", {of(x), of(y)}, {2}, {64}, 100LL, x.data(), y.data()),
              ElementsAre(HasSubstr("4 B beyond an allocation of 400 B")));
  EXPECT_THAT(watched("test_copy_one_more", {of(y)}, {1}, {1}, 99LL, x.data(), y.data()), Not(IsEmpty()));
}

TEST(Order, EverySeedHasAnOrderOfItsOwn) {
  std::vector<std::vector<int>> seen;
  for (const std::uint64_t order : {0, 1, 2}) {
    int turn = 0;
    std::vector<int> y(2 * 3 * 64, -1);
    int* turn_at = &turn;
    int* y_at = y.data();
    void* pointers[] = {&turn_at, &y_at};
    ASSERT_TRUE(run(find("test_who_comes"), {3}, {64}, pointers, {.order = order}).ok());
    // Blocks one after another, in each all threads before any of them goes on.
    std::vector<int> sorted = y;
    std::sort(sorted.begin(), sorted.end());
    for (int i = 0; i < 2 * 3 * 64; ++i) EXPECT_EQ(sorted[static_cast<std::size_t>(i)], i);
    for (int i = 0; i < 3 * 64; ++i) {
      EXPECT_LT(y[static_cast<std::size_t>(i)] % 128, 64);
      EXPECT_GE(y[static_cast<std::size_t>(i + 3 * 64)] % 128, 64);
    }
    for (const auto& other : seen) EXPECT_NE(y, other);
    seen.push_back(std::move(y));
  }
  std::vector<int> in_order(64);
  std::iota(in_order.begin(), in_order.end(), 0);
  EXPECT_TRUE(std::equal(in_order.begin(), in_order.end(), seen[0].begin()));
}

}  // namespace

}  // namespace argosy::on_host
