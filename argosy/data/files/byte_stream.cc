#include "argosy/data/files/byte_stream.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "argosy/base/memory/growing_text.h"
#include "argosy/base/system/file.h"

namespace argosy::data {

struct ByteStream::Impl {
  Impl(File f, std::int64_t file_size, std::size_t buffer) : file(std::move(f)), size(file_size), raw(buffer) {}
  ~Impl() {
    if (inflating) inflateEnd(&stream);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  // Reads more bytes of the file, and returns how many; 0 at its end.
  Result<std::size_t> read_raw() {
    const auto n = static_cast<std::size_t>(std::min<std::int64_t>(static_cast<std::int64_t>(raw.size()), size - at));
    ARGOSY_RETURN_IF_ERROR(file.read_at(at, raw.data(), n));
    at += static_cast<std::int64_t>(n);
    return n;
  }

  // Makes `ready` non-empty, unless everything was given out.
  Status fill() {
    if (!ready.empty() || ended) return ok_status();
    check_interrupted();
    if (!inflating) {
      ARGOSY_ASSIGN_OR_RETURN(const std::size_t n, read_raw());
      ready = std::string_view(raw.data(), n);
      ended = n == 0;
      return ok_status();
    }
    while (ready.empty() && !ended) {
      if (stream.avail_in == 0) {
        ARGOSY_ASSIGN_OR_RETURN(const std::size_t n, read_raw());
        if (n == 0 && !fresh) return damaged("compressed data ends early");
        ended = n == 0;
        if (ended) return ok_status();
        stream.next_in = reinterpret_cast<Bytef*>(raw.data());
        stream.avail_in = static_cast<uInt>(n);
      }
      fresh = false;
      stream.next_out = reinterpret_cast<Bytef*>(inflated.data());
      stream.avail_out = static_cast<uInt>(inflated.size());
      const int code = inflate(&stream, Z_NO_FLUSH);
      ready = std::string_view(inflated.data(), inflated.size() - stream.avail_out);
      if (code == Z_STREAM_END) {  // perhaps another member follows
        fresh = true;
        inflateReset(&stream);
      } else if (code != Z_OK && code != Z_BUF_ERROR) {
        return damaged(stream.msg != nullptr ? stream.msg : "no reason given");
      }
    }
    return ok_status();
  }

  Status damaged(std::string_view what) {
    ended = true;
    return data_loss(file.path(), ": compressed data is damaged before byte ", at - stream.avail_in, " of ", size, ": ",
                     what)
        .with_id("ARG-DATA-005");
  }

  std::string_view take(std::size_t bytes) {
    const std::string_view part = ready.substr(0, bytes);
    ready.remove_prefix(part.size());
    given += static_cast<std::int64_t>(part.size());
    return part;
  }

  File file;
  std::int64_t size;
  std::int64_t at = 0;     // in the file
  std::int64_t given = 0;  // out of `ready`
  std::vector<char> raw, inflated;
  std::string_view ready;  // of `raw` or `inflated`
  bool inflating = false;
  bool fresh = true;  // at the beginning of a member
  bool ended = false;
  z_stream stream = {};
};

ByteStream::ByteStream(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ByteStream::ByteStream(ByteStream&&) noexcept = default;
ByteStream& ByteStream::operator=(ByteStream&&) noexcept = default;
ByteStream::~ByteStream() = default;

Result<ByteStream> ByteStream::open(const std::string& path, Compression compression, std::size_t buffer_bytes) {
  constexpr std::size_t kMost = 64 << 20;
  const std::size_t buffer = buffer_bytes == 0 ? kDefaultBuffer : std::min(buffer_bytes, kMost);
  ARGOSY_ASSIGN_OR_RETURN(File file, File::open(path));
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t size, file.size());
  auto impl = std::make_unique<Impl>(std::move(file), size, buffer);
  if (compression != Compression::kNone) {
    const int bits = compression == Compression::kGzip ? 16 + MAX_WBITS : MAX_WBITS;
    if (inflateInit2(&impl->stream, bits) != Z_OK) return resource_exhausted("zlib could not start");
    impl->inflating = true;
    impl->inflated.resize(std::max<std::size_t>(buffer, 4096));
  }
  return ByteStream(std::move(impl));
}

Result<bool> ByteStream::line(std::string& to) {
  Impl& s = *impl_;
  to.clear();
  bool some = false;
  GrowingText counted(HostUse::kFiles, "a line of a file");
  while (true) {
    ARGOSY_RETURN_IF_ERROR(s.fill());
    if (s.ready.empty()) break;
    some = true;
    const std::size_t end = s.ready.find('\n');
    if (end == std::string_view::npos) {
      ARGOSY_RETURN_IF_ERROR(counted.grow_to(to.size() + s.ready.size()));
      to += s.take(s.ready.size());
      continue;
    }
    to += s.take(end);
    s.take(1);
    break;
  }
  return some;
}

Status ByteStream::read(std::size_t bytes, std::string& to) {
  Impl& s = *impl_;
  to.clear();
  GrowingText counted(HostUse::kFiles, "a block of a file");
  while (to.size() < bytes) {
    ARGOSY_RETURN_IF_ERROR(s.fill());
    if (s.ready.empty()) break;
    ARGOSY_RETURN_IF_ERROR(counted.grow_to(std::min(bytes, to.size() + s.ready.size())));
    to += s.take(bytes - to.size());
  }
  return ok_status();
}

Result<std::int64_t> ByteStream::skip(std::int64_t bytes) {
  Impl& s = *impl_;
  std::int64_t skipped = 0;
  if (bytes <= 0) return skipped;
  if (!s.inflating) {
    skipped = static_cast<std::int64_t>(s.take(static_cast<std::size_t>(bytes)).size());
    const std::int64_t there = std::min(bytes - skipped, s.size - s.at);
    s.at += there;
    s.given += there;
    return skipped + there;
  }
  while (skipped < bytes) {
    ARGOSY_RETURN_IF_ERROR(s.fill());
    if (s.ready.empty()) break;
    skipped += static_cast<std::int64_t>(s.take(static_cast<std::size_t>(bytes - skipped)).size());
  }
  return skipped;
}

std::int64_t ByteStream::offset() const { return impl_->given; }

}  // namespace argosy::data
