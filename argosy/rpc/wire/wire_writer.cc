#include "argosy/rpc/wire/wire_writer.h"

#include <bit>

#include "argosy/formats/proto/wire.h"

namespace argosy::tf {

namespace {
// Below this a copy is cheaper than one more piece on its way through the transport.
constexpr std::size_t kLendBytes = 16 << 10;
}  // namespace

std::size_t WireWriter::varint_size(std::uint64_t value) {
  return static_cast<std::size_t>(std::bit_width(value | 1) + 6) / 7;
}

std::size_t WireWriter::field_size(std::uint32_t number, std::uint64_t bytes) {
  return varint_size(std::uint64_t{number} << 3) + varint_size(bytes) + bytes;
}

void WireWriter::varint_field(std::uint32_t number, std::uint64_t value) {
  if (value == 0) return;
  put_varint(open_, std::uint64_t{number} << 3);
  put_varint(open_, value);
}

void WireWriter::begin_bytes(std::uint32_t number, std::uint64_t size) {
  put_varint(open_, std::uint64_t{number} << 3 | 2);
  put_varint(open_, size);
}

void WireWriter::bytes_field(std::uint32_t number, std::string_view bytes) {
  begin_bytes(number, bytes.size());
  open_ += bytes;
}

void WireWriter::append_elements(const Tensor& tensor) {
  if (tensor.bytes() < kLendBytes) {
    open_.append(tensor.raw_as<const char>(), tensor.bytes());
    return;
  }
  close();
  closed_bytes_ += tensor.bytes();
  pieces_.push_back({.bytes = {}, .tensor = tensor});
}

void WireWriter::close() {
  if (open_.empty()) return;
  closed_bytes_ += open_.size();
  pieces_.push_back({.bytes = std::move(open_), .tensor = {}});
  open_.clear();
}

std::vector<WirePiece> WireWriter::take() {
  close();
  closed_bytes_ = 0;
  return std::exchange(pieces_, {});
}

std::string joined(const std::vector<WirePiece>& pieces) {
  std::string all;
  for (const WirePiece& piece : pieces) all += piece.view();
  return all;
}

}  // namespace argosy::tf
