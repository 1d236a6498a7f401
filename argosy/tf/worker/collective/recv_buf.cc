#include "argosy/tf/worker/collective/recv_buf.h"

#include <algorithm>

namespace argosy::tf {

namespace {

constexpr std::string_view kExtraType = "type.googleapis.com/tensorflow.RecvBufRespExtra";
// Strings of some size: gRPC receives one that is very large slowly.
constexpr std::size_t kString = std::size_t{64} << 10;

Status damaged(std::string_view what) {
  return invalid_argument("RecvBuf: ", what, " is damaged").with_id("ARG-PROTO-003");
}

// The strings of RecvBufRespExtra, copied one after the other; what does not fit is only counted.
Result<std::size_t> read_strings(WireReader in, std::span<std::byte> to) {
  std::size_t total = 0;
  for (WireField f; in.next(f);) {
    if (f.number != 1 || !f.is_bytes()) {
      in.skip(f);
      continue;
    }
    const auto bytes = static_cast<std::size_t>(f.value);
    if (total <= to.size() && bytes <= to.size() - total) {
      in.copy(f, to.data() + total);
    } else {
      in.skip(f);
    }
    total += bytes;
  }
  if (!in.ok()) return damaged("the response");
  return total;
}

}  // namespace

Result<RecvBufRequest> read_recv_buf(WireReader in) {
  RecvBufRequest request;
  WireScratch scratch;
  for (WireField f; in.next(f);) {
    if (f.is_bytes() && (f.number == 2 || f.number == 8 || f.number == 9)) {
      (f.number == 2 ? request.key : f.number == 8 ? request.source : request.destination) = in.text(f, scratch);
      continue;
    }
    if (f.is_varint()) {
      if (f.number == 1) request.step_id = static_cast<std::int64_t>(f.value);
      if (f.number == 3) request.num_bytes = static_cast<std::int64_t>(f.value);
      if (f.number == 10) request.request_id = static_cast<std::int64_t>(f.value);
      if (f.number == 11) request.source_incarnation = f.value;
    }
    in.skip(f);
  }
  if (!in.ok()) return damaged("the request");
  return request;
}

std::vector<WirePiece> write_recv_buf(const RecvBufRequest& request) {
  WireWriter out;
  out.varint_field(1, static_cast<std::uint64_t>(request.step_id));
  out.bytes_field(2, request.key);
  out.varint_field(3, static_cast<std::uint64_t>(request.num_bytes));
  out.bytes_field(8, request.source);
  out.bytes_field(9, request.destination);
  out.varint_field(10, static_cast<std::uint64_t>(request.request_id));
  out.varint_field(11, request.source_incarnation);
  return out.take();
}

std::vector<WirePiece> write_recv_buf_response(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::uint64_t extra = 0;
  for (std::size_t at = 0; at < text.size(); at += kString) {
    extra += WireWriter::field_size(1, std::min(kString, text.size() - at));
  }
  WireWriter out;
  out.varint_field(2, bytes.size());
  out.begin_bytes(4, WireWriter::field_size(1, kExtraType.size()) + WireWriter::field_size(2, extra));
  out.bytes_field(1, kExtraType);
  out.begin_bytes(2, extra);
  for (std::size_t at = 0; at < text.size(); at += kString) out.bytes_field(1, text.substr(at, kString));
  return out.take();
}

Status read_recv_buf_response(WireReader in, std::span<std::byte> to) {
  std::size_t total = 0;
  for (WireField f; in.next(f);) {
    if (f.number != 4 || !f.is_bytes()) {
      in.skip(f);
      continue;
    }
    WireReader any = in.message(f);
    for (WireField a; any.next(a);) {
      if (a.number == 2 && a.is_bytes()) {
        ARGOSY_ASSIGN_OR_RETURN(total, read_strings(any.message(a), to));
      } else {
        any.skip(a);
      }
    }
    if (!any.ok()) return damaged("the response");
  }
  if (!in.ok()) return damaged("the response");
  if (total == to.size()) return ok_status();
  return other_piece_size(total, to.size());
}

Status other_piece_size(std::size_t given, std::size_t wanted) {
  return internal_error("RecvBufResponse returned ", given, " bytes where to_tensor expected ", wanted)
      .with_id("ARG-CLUSTER-108")
      .with_hint("give the values of all members one shape");
}

}  // namespace argosy::tf
