#include "argosy/ops/summary_writer/summary_writer.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "argosy/formats/events/events.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/runtime/session/session.h"

namespace argosy {
namespace {

// One folder a test.
class SummaryWriters : public testing::Test {
 protected:
  SummaryWriters()
      : folder_(testing::TempDir() + "/" + testing::UnitTest::GetInstance()->current_test_info()->name()),
        writer_(summary_writer(graph_, folder_)),
        step_(constant(graph_, std::int64_t{7})) {
    std::filesystem::remove_all(folder_);
    open_ = create_summary_file_writer(writer_, folder_);
    close_ = close_summary_writer(writer_);
  }
  Value text(const std::string& t) { return constant(graph_, Tensor::scalar(t)); }
  Status run(Value v) {
    if (!session_) session_ = std::make_unique<Session>(graph_);
    return session_->run_targets({v});
  }
  std::vector<tf::Event> events() {
    std::vector<tf::Event> all;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      auto reader = tf::EventReader::open(entry.path());
      EXPECT_TRUE(reader.ok()) << reader.status().to_string();
      for (;;) {
        auto event = reader->next();
        if (!event.ok() || !event->has_value()) break;
        all.push_back(**event);
      }
    }
    return all;
  }

  Graph graph_;
  const std::string folder_;
  const Value writer_, step_;
  Value open_, close_;
  std::unique_ptr<Session> session_;
};

TEST_F(SummaryWriters, WriteAllKinds) {
  const Value numbers = constant(graph_, Tensor::vector<float>({1, 2, 4}));
  const Value bad = constant(graph_, Tensor::vector<std::uint8_t>({255, 0, 0, 255}));
  const std::string raw("\n\x08\n\x01r\x15\x00\x00\x00\x40", 10);
  const std::string event("\x10\x09\x2a\x0a" + raw);  // step 9
  const std::vector<Value> all = {
      write_scalar_summary(writer_, step_, "s", constant(graph_, 1.5f)),
      graph_.add("WriteHistogramSummary", {writer_, step_, text("h"), numbers}),
      graph_.add("WriteImageSummary",
                 {writer_, step_, text("i"), constant(graph_, Tensor::zeros(DType::kUint8, {1, 2, 2, 3})), bad}),
      graph_.add("WriteAudioSummary",
                 {writer_, step_, text("a"), constant(graph_, Tensor::zeros(DType::kFloat32, {1, 4})),
                  constant(graph_, 100.f)}),
      graph_.add("WriteSummary", {writer_, step_, numbers, text("t"), text("")}),
      graph_.add("WriteRawProtoSummary", {writer_, step_, text(raw)}),
      graph_.add("WriteGraphSummary", {writer_, step_, text("")}),
      graph_.add("ImportEvent", {writer_, text(event)}),
      graph_.add("FlushSummaryWriter", {writer_})};
  ASSERT_TRUE(graph_.status().ok()) << graph_.status().to_string();
  ASSERT_TRUE(run(open_).ok());
  ASSERT_TRUE(run(open_).ok());  // the same file
  for (const Value& one : all) {
    const Status status = run(one);
    EXPECT_TRUE(status.ok()) << status.to_string();
  }
  const Status closed = run(close_);
  ASSERT_TRUE(closed.ok()) << closed.to_string();
  const std::vector<tf::Event> got = events();
  ASSERT_EQ(got.size(), 9u);  // the file's version, then these
  EXPECT_EQ(got[1].step, 7);
  ASSERT_EQ(got[1].values.size(), 1u);
  EXPECT_EQ(got[1].values[0].tag, "s");
  EXPECT_EQ(std::get<float>(got[1].values[0].value), 1.5f);
  EXPECT_EQ(got[5].values[0].tag, "t");
  EXPECT_EQ(std::get<float>(got[6].values[0].value), 2.f);
  EXPECT_EQ(got[8].step, 9);
}

TEST_F(SummaryWriters, Refuse) {
  const Value scalar = write_scalar_summary(writer_, step_, "s", constant(graph_, 1.f));
  const Value no_proto = graph_.add("WriteRawProtoSummary", {writer_, step_, text("\xff\xff")});
  const Value no_event = graph_.add("ImportEvent", {writer_, text("\xff\xff")});
  const Value nan = graph_.add("WriteHistogramSummary", {writer_, step_, text("h"), constant(graph_, NAN)});
  const Value flush = graph_.add("FlushSummaryWriter", {writer_});
  const Value other = summary_writer(graph_, "other");
  const Value inside_name = graph_.add("CreateSummaryFileWriter",
                                       {other, text(folder_), constant(graph_, 1), constant(graph_, 1), text("/../x")});
  ASSERT_TRUE(graph_.status().ok()) << graph_.status().to_string();
  for (const Value& early : {scalar, flush, close_}) EXPECT_EQ(run(early).code(), Code::kNotFound);
  EXPECT_EQ(run(inside_name).code(), Code::kInvalidArgument);
  ASSERT_TRUE(run(open_).ok());
  for (const Value& wrong : {no_proto, no_event, nan}) EXPECT_EQ(run(wrong).code(), Code::kInvalidArgument);
  EXPECT_NE(run(nan).message().find("Nan in summary histogram for: h"), std::string::npos) << run(nan).to_string();
  ASSERT_TRUE(run(close_).ok());
  EXPECT_EQ(run(scalar).code(), Code::kNotFound);
}

}  // namespace
}  // namespace argosy
