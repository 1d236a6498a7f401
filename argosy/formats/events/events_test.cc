#include "argosy/formats/events/events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <numeric>

#include "argosy/base/system/test_files.h"
#include "argosy/data/image/image.h"
#include "argosy/formats/events/image_scaling.h"

namespace argosy::tf {
namespace {

using testing::ElementsAre;

Result<std::vector<Event>> read_events(const std::string& path) {
  ARGOSY_ASSIGN_OR_RETURN(EventReader reader, EventReader::open(path));
  std::vector<Event> events;
  for (;;) {
    ARGOSY_ASSIGN_OR_RETURN(auto event, reader.next());
    if (!event) return events;
    events.push_back(*std::move(event));
  }
}

TEST(Events, AreReadBackAsTheyWereWritten) {
  TempDirectory temp;
  std::string path;
  {
    auto writer = *EventWriter::open(temp.path("logs/run"), {.suffix = ".test"});
    path = writer->path();
    ASSERT_TRUE(writer->scalar("loss", 3, 0.5).ok());
    ASSERT_TRUE(writer->image("samples", 4, Tensor::zeros(DType::kUint8, {5, 6, 7, 3}), 2).ok());
    ASSERT_TRUE(writer->image("one", 4, Tensor::zeros(DType::kFloat32, {6, 7, 1}), 1).ok());
    ASSERT_TRUE(writer->histogram("weights", 5, Tensor::vector<float>({-1, 0, 0, 2})).ok());
    ASSERT_TRUE(writer->text("notes", 6, "**bold**").ok());
    ASSERT_TRUE(writer->graph_def(0, std::string("\x2a\0", 2)).ok());
    ASSERT_TRUE(writer->hyper_parameters("a", {{"lr", 0.1}, {"adam", true}, {"model", std::string("mlp")}}).ok());
  }
  EXPECT_THAT(path, testing::HasSubstr("/events.out.tfevents."));
  EXPECT_TRUE(path.ends_with(".test"));
  const auto events = read_events(path);
  ASSERT_TRUE(events.ok()) << events.status().to_string();
  ASSERT_EQ(events->size(), 8u);
  const auto& e = *events;
  EXPECT_EQ(e[0].file_version, "brain.Event:2");
  EXPECT_GT(e[0].wall_time, 1.6e9);
  EXPECT_EQ(e[1].step, 3);
  EXPECT_EQ(e[1].values[0].tag, "loss");
  EXPECT_EQ(std::get<float>(e[1].values[0].value), 0.5f);
  ASSERT_EQ(e[2].values.size(), 2u);
  EXPECT_EQ(e[2].values[1].tag, "samples/image/1");
  const auto& image = std::get<EventImage>(e[2].values[0].value);
  EXPECT_EQ(image.height, 6);
  EXPECT_EQ(data::decode_image(image.png, 3)->shape(), (Shape{6, 7, 3}));
  EXPECT_EQ(e[3].values[0].tag, "one/image");
  EXPECT_EQ(std::get<Histogram>(e[4].values[0].value).count, 4);
  EXPECT_EQ(e[5].values[0].plugin, "text");
  EXPECT_EQ(std::get<Tensor>(e[5].values[0].value).data<std::string>()[0], "**bold**");
  EXPECT_FALSE(e[6].graph_def.empty());
  EXPECT_EQ(e[7].values[0].plugin, "hparams");
}

TEST(Events, RefuseWhatIsNoImage) {
  TempDirectory temp;
  auto writer = *EventWriter::open(temp.path());
  EXPECT_EQ(writer->image("x", 1, Tensor::zeros(DType::kFloat64, {2, 2, 1})).code(), Code::kInvalidArgument);
  EXPECT_EQ(writer->image("x", 1, Tensor::zeros(DType::kFloat32, {2, 2})).code(), Code::kInvalidArgument);
  EXPECT_EQ(writer->image("x", 1, Tensor::zeros(DType::kFloat32, {2, 2, 5})).code(), Code::kInvalidArgument);
  EXPECT_EQ(writer->image("x", 1, Tensor::zeros(DType::kUint8, {2, 2, 2})).code(), Code::kInvalidArgument);
  EXPECT_EQ(writer->image("x", 1, Tensor()).code(), Code::kInvalidArgument);
  EXPECT_EQ(writer->histogram("x", 1, Tensor::vector<float>({1, NAN})).code(), Code::kInvalidArgument);
  auto second = EventWriter::open(temp.path());
  ASSERT_TRUE(second.ok());
  EXPECT_NE((*second)->path(), writer->path());
}

TEST(Events, EveryCutAndFlipIsNoticed) {
  TempDirectory temp;
  std::string bytes;
  {
    auto writer = *EventWriter::open(temp.path("log"));
    ASSERT_TRUE(writer->scalar("loss", 3, 0.5).ok());
    ASSERT_TRUE(writer->text("t", 3, "words").ok());
    ASSERT_TRUE(writer->flush().ok());
    bytes = *read_file(writer->path(), 1 << 20);
  }
  int whole = 0;
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    temp.write("cut", bytes.substr(0, n));
    whole += read_events(temp.path("cut")).ok() ? 1 : 0;
  }
  EXPECT_EQ(whole, 3);  // nothing, after the first, after the second event
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string flipped = bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    temp.write("flip", flipped);
    EXPECT_EQ(read_events(temp.path("flip")).status().code(), Code::kDataLoss) << bit;
  }
}

TEST(Histogram, HasTensorFlowsBuckets) {
  const Histogram h = *make_histogram(Tensor::vector<double>({-1.0, 0.0, 0.0, 1e-12, 5.0, 1e300}));
  EXPECT_EQ(h.min, -1);
  EXPECT_EQ(h.max, 1e300);
  EXPECT_EQ(h.sum_squares, INFINITY);
  EXPECT_EQ(std::accumulate(h.counts.begin(), h.counts.end(), 0.0), 6);
  ASSERT_EQ(h.limits.size(), h.counts.size());
  EXPECT_TRUE(std::is_sorted(h.limits.begin(), h.limits.end()));
  EXPECT_EQ(h.limits.back(), DBL_MAX);
  // Zeros fall below the first positive limit, 1e-12 itself into the next bucket.
  const auto zero = std::find(h.limits.begin(), h.limits.end(), 1e-12) - h.limits.begin();
  ASSERT_LT(zero + 1, static_cast<std::ptrdiff_t>(h.limits.size()));
  EXPECT_EQ(h.counts[static_cast<std::size_t>(zero)], 2);
  EXPECT_DOUBLE_EQ(h.limits[static_cast<std::size_t>(zero) + 1], 1.1e-12);
  EXPECT_EQ(h.counts[static_cast<std::size_t>(zero) + 1], 1);
  const Histogram empty = *make_histogram(Tensor::zeros(DType::kFloat32, {0}));
  EXPECT_THAT(empty.limits, ElementsAre(DBL_MAX));
  EXPECT_THAT(empty.counts, ElementsAre(0));
  EXPECT_EQ((*make_histogram(Tensor::vector<std::uint8_t>({1, 1}))).sum, 2);
  EXPECT_EQ(make_histogram(Tensor::scalar("text")).status().code(), Code::kUnimplemented);
}

TEST(ScaleImage, FollowsImageSummary) {
  const std::uint8_t red[] = {255, 0, 0, 255};
  const auto scaled = [&](std::vector<float> values, std::int64_t channels) {
    const auto n = static_cast<std::int64_t>(values.size()) / channels;
    const Tensor bytes = scale_image(Tensor::of<float>({1, n, channels}, values), red);
    const auto out = bytes.values<std::uint8_t>();
    return std::vector<int>(out.begin(), out.end());
  };
  EXPECT_THAT(scaled({0, 1, 2, 4}, 1), ElementsAre(0, 63, 127, 255));
  EXPECT_THAT(scaled({-2, 0, 1, 2}, 1), ElementsAre(1, 128, 191, 255));
  EXPECT_THAT(scaled({0, 0, 1e-7f}, 1), ElementsAre(0, 0, 0));
  EXPECT_THAT(scaled({1, NAN, 1, 1, 1, 2}, 3), ElementsAre(255, 0, 0, 127, 127, 255));
  EXPECT_THAT(scaled({INFINITY}, 1), ElementsAre(255));
}

}  // namespace
}  // namespace argosy::tf
