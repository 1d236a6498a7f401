#include "argosy/data/files/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <vector>

namespace argosy::data {

struct GzipSource::Impl {
  explicit Impl(File f) : file(std::move(f)), buffer(64 << 10) {}
  ~Impl() {
    if (deflated) inflateEnd(&stream);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  // Reads more compressed bytes for zlib; none at the end of the file.
  Status refill() {
    const auto n =
        static_cast<std::size_t>(std::min<std::int64_t>(static_cast<std::int64_t>(buffer.size()), size - offset));
    ARGOSY_RETURN_IF_ERROR(file.read_at(offset, buffer.data(), n));
    offset += static_cast<std::int64_t>(n);
    stream.next_in = buffer.data();
    stream.avail_in = static_cast<uInt>(n);
    return ok_status();
  }

  Status damaged(std::string_view what) const {
    return data_loss(file.path(), ": ", what, " (", size, " bytes, stopped at byte ", offset - stream.avail_in, ")")
        .with_id("ARG-DATA-005");
  }

  Status inflate_some(void* to, std::size_t bytes, std::size_t* got) {
    stream.next_out = static_cast<Bytef*>(to);
    stream.avail_out = static_cast<uInt>(std::min<std::size_t>(bytes, 1u << 30));
    const uInt wanted = stream.avail_out;
    while (stream.avail_out == wanted && !ended) {
      if (stream.avail_in == 0) ARGOSY_RETURN_IF_ERROR(refill());
      if (stream.avail_in == 0) return damaged("gzip data ends early");
      const int code = inflate(&stream, Z_NO_FLUSH);
      if (code == Z_STREAM_END) {
        ended = true;
      } else if (code != Z_OK) {
        return damaged(str_cat("gzip data is damaged: ", stream.msg != nullptr ? stream.msg : "no reason given"));
      }
    }
    *got = wanted - stream.avail_out;
    return ok_status();
  }

  File file;
  std::vector<Bytef> buffer;
  std::int64_t size = 0;
  std::int64_t offset = 0;  // of the file, what has been taken from it
  bool deflated = false;
  bool ended = false;
  z_stream stream = {};
};

GzipSource::GzipSource(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
GzipSource::GzipSource(GzipSource&&) noexcept = default;
GzipSource::~GzipSource() = default;

Result<GzipSource> GzipSource::open(const std::string& path) {
  ARGOSY_ASSIGN_OR_RETURN(File file, File::open(path));
  auto impl = std::make_unique<Impl>(std::move(file));
  ARGOSY_ASSIGN_OR_RETURN(impl->size, impl->file.size());
  unsigned char magic[2] = {};
  if (impl->size >= 2) ARGOSY_RETURN_IF_ERROR(impl->file.read_at(0, magic, 2));
  if (magic[0] == 0x1f && magic[1] == 0x8b) {
    if (inflateInit2(&impl->stream, 16 + MAX_WBITS) != Z_OK) return resource_exhausted("zlib could not start");
    impl->deflated = true;
  }
  return GzipSource(std::move(impl));
}

std::int64_t GzipSource::most_bytes() const { return impl_->deflated ? impl_->size * 1032 : impl_->size; }

Status GzipSource::read(void* to, std::size_t bytes) {
  Impl& s = *impl_;
  auto* target = static_cast<char*>(to);
  if (!s.deflated) {
    ARGOSY_RETURN_IF_ERROR(s.file.read_at(s.offset, target, bytes));
    s.offset += static_cast<std::int64_t>(bytes);
    return ok_status();
  }
  while (bytes > 0) {
    if (s.ended) return s.damaged(str_cat("the content ends ", bytes, " bytes early"));
    std::size_t got = 0;
    ARGOSY_RETURN_IF_ERROR(s.inflate_some(target, bytes, &got));
    target += got;
    bytes -= got;
  }
  return ok_status();
}

Status GzipSource::finish() {
  Impl& s = *impl_;
  if (s.deflated) {
    char more = 0;
    std::size_t got = 0;
    if (!s.ended) ARGOSY_RETURN_IF_ERROR(s.inflate_some(&more, 1, &got));
    if (got != 0) return s.damaged("there is more content than the header says");
  }
  if (s.offset - static_cast<std::int64_t>(s.stream.avail_in) != s.size) return s.damaged("bytes follow the content");
  return ok_status();
}

}  // namespace argosy::data
