#include "argosy/runtime/device_set/trace.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace argosy {

namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) out += c;
  }
  return out + "\"";
}

std::string micros(std::int64_t nanos) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", static_cast<double>(nanos) * 1e-3);
  return text;
}

}  // namespace

Result<std::unique_ptr<TraceWriter>> TraceWriter::open(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) {
    return not_found("cannot write the trace: ", std::strerror(errno))
        .with_id("ARG-TRACE-001")
        .with_where(path)
        .with_hint("a path in a folder that exists and may be written");
  }
  std::fputs("[\n", file);
  return std::unique_ptr<TraceWriter>(new TraceWriter(file));
}

Result<std::shared_ptr<TraceWriter>> Traces::open(const std::string& path) {
  MutexLock lock(mutex_);
  std::weak_ptr<TraceWriter>& known = writers_[path];
  if (auto writer = known.lock()) return writer;
  ARGOSY_ASSIGN_OR_RETURN(auto made, TraceWriter::open(path));
  std::shared_ptr<TraceWriter> writer = std::move(made);
  known = writer;
  return writer;
}

TraceWriter::~TraceWriter() {
  MutexLock lock(mutex_);
  std::fputs("\n]\n", file_);
  std::fclose(file_);
}

void TraceWriter::event(const std::string& json) {
  if (!first_) std::fputs(",\n", file_);
  first_ = false;
  std::fputs(json.c_str(), file_);
}

void TraceWriter::add(const StepStats& stats, std::int64_t step_id) {
  MutexLock lock(mutex_);
  if (origin_nanos_ == 0) origin_nanos_ = stats.start_nanos;
  for (; named_devices_ < stats.devices.size(); ++named_devices_) {
    event(str_cat(R"({"ph":"M","name":"thread_name","pid":0,"tid":)", named_devices_, R"(,"args":{"name":)",
                  quoted(stats.devices[named_devices_].device.to_string()), "}}"));
  }
  for (const OpRecord& op : stats.ops) {
    event(str_cat(R"({"ph":"X","pid":0,"tid":)", op.device, R"(,"name":)", quoted(op.op), R"(,"ts":)",
                  micros(op.start_nanos - origin_nanos_), R"(,"dur":)", micros(op.end_nanos - op.start_nanos),
                  R"(,"args":{"node":)", quoted(op.node), R"(,"step":)", step_id, "}}"));
  }
  std::fflush(file_);
}

}  // namespace argosy
