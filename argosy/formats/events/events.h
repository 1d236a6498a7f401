// TensorBoard's event files: scalars, images, histograms, text, the graph and hyper-parameters of a run.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "argosy/formats/events/histogram.h"

namespace argosy::tf {

using HyperParameter = std::pair<std::string, std::variant<double, bool, std::string>>;

struct EventWriterOptions {
  std::string suffix = {};   // of the file name
  double flush_seconds = 5;  // events older than this have been given to the system
};

// One event file in a run's folder. Thread-safe. Events of a tag should not go back in step: TensorBoard takes that for
// a restart.
class EventWriter {
 public:
  // Makes the folder and a file of its own in it: events.out.tfevents.<seconds>.<host>.<process>.<number><suffix>.
  static Result<std::unique_ptr<EventWriter>> open(const std::string& directory,
                                                   const EventWriterOptions& options = {});
  // Flushes.
  ~EventWriter();
  EventWriter(const EventWriter&) = delete;
  EventWriter& operator=(const EventWriter&) = delete;

  const std::string& path() const;

  Status scalar(std::string_view tag, std::int64_t step, double value);
  // [height, width, channels] or [n, height, width, channels], channels 1, 3 or 4, uint8 or float32. Floats are scaled
  // image by image as TensorFlow's ImageSummary does it; pixels that are not finite become red.
  Status image(std::string_view tag, std::int64_t step, const Tensor& images, int most_images = 3);
  Status histogram(std::string_view tag, std::int64_t step, const Tensor& values);
  Status text(std::string_view tag, std::int64_t step, std::string_view markdown);
  // Once, at the start of a run. `run` groups equal settings.
  Status hyper_parameters(std::string_view run, const std::vector<HyperParameter>& parameters);

  // A Graph of ours: write_graph() of argosy/tf/graph/graph_event.h.
  // Messages as other programs and ops serialise them. INVALID_ARGUMENT for bytes that are none. An event keeps its own
  // step and time.
  Status summary(std::int64_t step, std::string_view serialized);
  Status graph_def(std::int64_t step, std::string_view serialized);
  Status event(std::string_view serialized);

  Status flush();

 private:
  class Impl;
  explicit EventWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

struct EventImage {
  std::int64_t height = 0, width = 0;
  int channels = 0;
  std::string png;
};

struct EventValue {
  std::string tag;
  std::string plugin;  // "text", "hparams", …; empty for the old forms
  std::variant<std::monostate, float, EventImage, Histogram, Tensor> value;
};

struct Event {
  double wall_time = 0;  // seconds since 1970
  std::int64_t step = 0;
  std::string file_version;  // "brain.Event:2" in the first
  std::string graph_def;     // serialised
  std::vector<EventValue> values;
};

// Reads event files, ours and TensorFlow's. One thread per object.
class EventReader {
 public:
  static Result<EventReader> open(const std::string& path);
  EventReader(EventReader&&) noexcept;
  ~EventReader();

  // The next event; empty at the end. DATA_LOSS names file and offset; a file that is still being written, or whose
  // writer was killed, may end so.
  Result<std::optional<Event>> next();

 private:
  struct Impl;
  explicit EventReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace argosy::tf
