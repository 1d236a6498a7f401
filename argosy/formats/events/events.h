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
  std::string suffix = {};   // appended to the file's name
  double flush_seconds = 5;  // an event written so long after the last flush flushes the buffer; there is no timer
};

// Writes one event file in a run's folder. Thread-safe. The steps of a tag should not decrease: TensorBoard takes that
// for a restart.
class EventWriter {
 public:
  // Creates the folder, and a new file in it: events.out.tfevents.<seconds>.<host>.<process>.<number><suffix>.
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
  // Writes a run's hyper-parameters. Call it once, at the start. `run`: the group (TensorBoard's "session group") of
  // runs with equal hyper-parameters.
  Status hyper_parameters(std::string_view run, const std::vector<HyperParameter>& parameters);

  // A Graph of ours: write_graph() of argosy/tf/graph/graph_event.h.
  // Write a serialised Summary, GraphDef or Event message. INVALID_ARGUMENT: the bytes are no such message; a GraphDef
  // is not parsed. event() keeps the message's own step and time.
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
  std::string plugin;  // "text", "hparams", …; empty: a summary without plugin metadata, TensorFlow 1.x's form
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

  // Returns the next event; nullopt: the end of the file. DATA_LOSS names the file and the offset of a damaged or
  // incomplete record. A file may end with one if its writer was killed, or still writes.
  Result<std::optional<Event>> next();

 private:
  struct Impl;
  explicit EventReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace argosy::tf
