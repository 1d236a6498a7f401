#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "argosy/base/clock.h"
#include "argosy/base/mutex.h"
#include "argosy/data/image/image.h"
#include "argosy/formats/events/events.h"
#include "argosy/formats/events/histogram.h"
#include "argosy/formats/events/image_scaling.h"
#include "argosy/formats/proto/event.pb.h"
#include "argosy/formats/proto/plugin.pb.h"
#include "argosy/formats/proto/tensor_proto.h"
#include "argosy/formats/records/record.h"

namespace argosy::tf {

namespace {

constexpr std::uint8_t kBadColor[] = {255, 0, 0, 255};  // ImageSummary's default

double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string host_name() {
  char name[256] = "localhost";
  (void)::gethostname(name, sizeof name - 1);
  return name;
}

void set_plugin(tensorflow::Summary::Value* value, const char* plugin, std::string content = {}) {
  value->mutable_metadata()->mutable_plugin_data()->set_plugin_name(plugin);
  value->mutable_metadata()->mutable_plugin_data()->set_content(std::move(content));
  value->mutable_metadata()->set_data_class(tensorflow::DATA_CLASS_TENSOR);
}

// Appends up to `most_images` of a batch of images, or one image.
Status add_images(std::string_view tag, const Tensor& images, int most_images, tensorflow::Summary& to) {
  const Tensor batch =
      images.valid() && images.shape().rank() == 3 ? images.reshaped(images.shape().inserted(0, 1)) : images;
  if (!batch.valid() || batch.shape().rank() != 4 ||
      (batch.dtype() != DType::kUint8 && batch.dtype() != DType::kFloat32)) {
    return invalid_argument("image '", tag, "': images are uint8 or float32 of shape [n,height,width,channels], not ",
                            dtype_name(images.dtype()), images.shape())
        .with_id("ARG-EVENT-002");
  }
  const Shape one = batch.shape().removed(0);
  if (one.back() < 1 || one.back() > 4) {
    return invalid_argument("image '", tag, "': an image has 1, 3 or 4 channels, not ", one.back())
        .with_id("ARG-EVENT-002");
  }
  for (std::int64_t i = 0; i < std::min<std::int64_t>(batch.shape()[0], most_images); ++i) {
    const Tensor image = batch.rows(i, i + 1).reshaped(one);
    auto png = data::encode_png(image.dtype() == DType::kUint8 ? image : scale_image(image, kBadColor));
    if (!png.ok()) return png.status();
    auto* value = to.add_value();
    value->set_tag(most_images == 1 ? str_cat(tag, "/image") : str_cat(tag, "/image/", i));
    value->mutable_image()->set_height(static_cast<std::int32_t>(one[0]));
    value->mutable_image()->set_width(static_cast<std::int32_t>(one[1]));
    value->mutable_image()->set_colorspace(static_cast<std::int32_t>(one.back()));
    value->mutable_image()->set_encoded_image_string(*std::move(png));
  }
  return ok_status();
}

// The message of TensorBoard's plugin "hparams".
std::string hyper_parameters_message(std::string_view run, const std::vector<HyperParameter>& parameters) {
  HParamsPluginData content;
  auto* start = content.mutable_session_start_info();
  start->set_group_name(std::string(run));
  start->set_start_time_secs(seconds_since_1970());
  for (const auto& [name, parameter] : parameters) {
    auto& to = (*start->mutable_hparams())[name];
    if (const auto* number = std::get_if<double>(&parameter)) to.set_number_value(*number);
    if (const auto* flag = std::get_if<bool>(&parameter)) to.set_bool_value(*flag);
    if (const auto* text = std::get_if<std::string>(&parameter)) to.set_string_value(*text);
  }
  return content.SerializeAsString();
}

}  // namespace

class EventWriter::Impl {
 public:
  Impl(RecordWriter file, std::string path, double flush_seconds)
      : path_(std::move(path)), flush_seconds_(flush_seconds), file_(std::move(file)) {}

  const std::string& path() const { return path_; }

  Status write(tensorflow::Event& event) {
    event.set_wall_time(seconds_since_1970());
    return write_as_it_is(event);
  }
  Status write_as_it_is(const tensorflow::Event& event) {
    const std::string bytes = event.SerializeAsString();
    const MutexLock lock(mutex_);
    ARGOSY_RETURN_IF_ERROR(file_.write(bytes));
    if (seconds_since(flushed_) < flush_seconds_) return ok_status();
    flushed_ = now_nanos();
    return file_.flush();
  }

  Status flush() {
    const MutexLock lock(mutex_);
    flushed_ = now_nanos();
    return file_.flush();
  }

 private:
  const std::string path_;
  const double flush_seconds_;
  Mutex mutex_;
  RecordWriter file_ ARGOSY_GUARDED_BY(mutex_);
  std::int64_t flushed_ ARGOSY_GUARDED_BY(mutex_) = now_nanos();
};

EventWriter::EventWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
EventWriter::~EventWriter() = default;
const std::string& EventWriter::path() const { return impl_->path(); }
Status EventWriter::flush() { return impl_->flush(); }

Result<std::unique_ptr<EventWriter>> EventWriter::open(const std::string& directory,
                                                       const EventWriterOptions& options) {
  ARGOSY_RETURN_IF_ERROR(make_directories(directory));
  const std::string seconds = std::to_string(static_cast<std::int64_t>(seconds_since_1970()));
  std::string path;
  int number = 0;
  do {
    path = join_path(directory, str_cat("events.out.tfevents.", seconds, ".", host_name(), ".", ::getpid(), ".",
                                        number++, options.suffix));
  } while (file_exists(path));
  ARGOSY_ASSIGN_OR_RETURN(RecordWriter file, RecordWriter::create(path));
  auto impl = std::make_unique<Impl>(std::move(file), std::move(path), options.flush_seconds);
  tensorflow::Event first;
  first.set_file_version("brain.Event:2");
  first.mutable_source_metadata()->set_writer("argosy");
  ARGOSY_RETURN_IF_ERROR(impl->write(first));
  ARGOSY_RETURN_IF_ERROR(impl->flush());
  return std::unique_ptr<EventWriter>(new EventWriter(std::move(impl)));
}

Status EventWriter::summary(std::int64_t step, std::string_view serialized) {
  tensorflow::Event event;
  event.set_step(step);
  if (!event.mutable_summary()->ParseFromArray(serialized.data(), static_cast<int>(serialized.size())))
    return invalid_argument("the bytes are no tensorflow.Summary proto");
  return impl_->write(event);
}

Status EventWriter::graph_def(std::int64_t step, std::string_view serialized) {
  tensorflow::Event event;
  event.set_step(step);
  event.set_graph_def(std::string(serialized));
  return impl_->write(event);
}

Status EventWriter::event(std::string_view serialized) {
  tensorflow::Event event;
  if (!event.ParseFromArray(serialized.data(), static_cast<int>(serialized.size())))
    return invalid_argument("the bytes are no tensorflow.Event proto");
  return impl_->write_as_it_is(event);
}

Status EventWriter::scalar(std::string_view tag, std::int64_t step, double number) {
  tensorflow::Event event;
  event.set_step(step);
  auto* value = event.mutable_summary()->add_value();
  value->set_tag(std::string(tag));
  value->set_simple_value(static_cast<float>(number));
  return impl_->write(event);
}

Status EventWriter::image(std::string_view tag, std::int64_t step, const Tensor& images, int most_images) {
  tensorflow::Event event;
  event.set_step(step);
  ARGOSY_RETURN_IF_ERROR(add_images(tag, images, most_images, *event.mutable_summary()));
  return impl_->write(event);
}

Status EventWriter::histogram(std::string_view tag, std::int64_t step, const Tensor& values) {
  ARGOSY_ASSIGN_OR_RETURN(const Histogram h, make_histogram(values));
  tensorflow::Event event;
  event.set_step(step);
  auto* value = event.mutable_summary()->add_value();
  value->set_tag(std::string(tag));
  to_proto(h, *value->mutable_histo());
  return impl_->write(event);
}

Status EventWriter::text(std::string_view tag, std::int64_t step, std::string_view markdown) {
  tensorflow::Event event;
  event.set_step(step);
  auto* value = event.mutable_summary()->add_value();
  value->set_tag(std::string(tag));
  set_plugin(value, "text");
  ARGOSY_RETURN_IF_ERROR(to_proto(Tensor::scalar(std::string(markdown)), value->mutable_tensor()));
  return impl_->write(event);
}

Status EventWriter::hyper_parameters(std::string_view run, const std::vector<HyperParameter>& parameters) {
  tensorflow::Event event;
  auto* value = event.mutable_summary()->add_value();
  value->set_tag("_hparams_/session_start_info");
  set_plugin(value, "hparams", hyper_parameters_message(run, parameters));
  // The plugin looks at the metadata alone, but a value must have a value.
  ARGOSY_RETURN_IF_ERROR(to_proto(Tensor::zeros(DType::kFloat32, {0}), value->mutable_tensor()));
  return impl_->write(event);
}

}  // namespace argosy::tf
