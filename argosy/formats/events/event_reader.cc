#include "argosy/formats/events/events.h"
#include "argosy/formats/proto/event.pb.h"
#include "argosy/formats/proto/tensor_proto.h"
#include "argosy/formats/records/record.h"

namespace argosy::tf {

namespace {

constexpr std::int64_t kMostTensorBytes = std::int64_t{64} << 20;

Histogram from_proto(const tensorflow::HistogramProto& proto) {
  return {proto.min(),
          proto.max(),
          proto.num(),
          proto.sum(),
          proto.sum_squares(),
          {proto.bucket_limit().begin(), proto.bucket_limit().end()},
          {proto.bucket().begin(), proto.bucket().end()}};
}

Result<EventValue> from_proto(tensorflow::Summary::Value& proto) {
  EventValue value;
  value.tag = proto.tag();
  value.plugin = proto.metadata().plugin_data().plugin_name();
  switch (proto.value_case()) {
    case tensorflow::Summary::Value::kSimpleValue: value.value = proto.simple_value(); break;
    case tensorflow::Summary::Value::kHisto: value.value = from_proto(proto.histo()); break;
    case tensorflow::Summary::Value::kImage: {
      auto& image = *proto.mutable_image();
      value.value = EventImage{image.height(), image.width(), image.colorspace(),
                               std::move(*image.mutable_encoded_image_string())};
      break;
    }
    case tensorflow::Summary::Value::kTensor: {
      ARGOSY_ASSIGN_OR_RETURN(value.value, tf::from_proto(proto.tensor(), kMostTensorBytes));
      break;
    }
    case tensorflow::Summary::Value::kAudio:  // told by its tag alone
    case tensorflow::Summary::Value::VALUE_NOT_SET: break;
  }
  return value;
}

}  // namespace

struct EventReader::Impl {
  std::string path;
  RecordReader records;
};

EventReader::EventReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
EventReader::EventReader(EventReader&&) noexcept = default;
EventReader::~EventReader() = default;

Result<EventReader> EventReader::open(const std::string& path) {
  ARGOSY_ASSIGN_OR_RETURN(RecordReader records, RecordReader::open(path));
  return EventReader(std::make_unique<Impl>(Impl{path, std::move(records)}));
}

Result<std::optional<Event>> EventReader::next() {
  const std::int64_t offset = impl_->records.offset();
  const auto damaged = [&](std::string_view why) {
    return data_loss(impl_->path, ": the event at byte ", offset, " ", why).with_id("ARG-EVENT-003");
  };
  ARGOSY_ASSIGN_OR_RETURN(const auto record, impl_->records.next());
  if (!record) return std::optional<Event>();
  tensorflow::Event proto;
  if (record->size() > INT32_MAX || !proto.ParseFromArray(record->data(), static_cast<int>(record->size()))) {
    return damaged("cannot be parsed");
  }
  Event event;
  event.wall_time = proto.wall_time();
  event.step = proto.step();
  event.file_version = proto.file_version();
  event.graph_def = proto.graph_def();
  for (auto& v : *proto.mutable_summary()->mutable_value()) {
    auto value = from_proto(v);
    if (!value.ok()) return damaged(str_cat("has a damaged value '", v.tag(), "': ", value.status().message()));
    event.values.push_back(*std::move(value));
  }
  return std::optional(std::move(event));
}

}  // namespace argosy::tf
