#include "argosy/rpc/wire/wire_reader.h"

#include <algorithm>
#include <cstring>

namespace argosy::tf {

WireReader::WireReader(std::span<const std::string_view> pieces) : piece_(pieces.data()) {
  for (const std::string_view piece : pieces) remaining_ += piece.size();
}

void WireReader::advance(std::size_t size) {
  remaining_ -= size;
  offset_ += size;
  // Never beyond the last piece: with nothing remaining there may be no other.
  while (remaining_ > 0 && offset_ >= piece_->size()) offset_ -= (piece_++)->size();
}

bool WireReader::varint(std::uint64_t& value) {
  value = 0;
  for (unsigned shift = 0; shift < 70 && remaining_ > 0; shift += 7) {
    while (offset_ >= piece_->size()) offset_ -= (piece_++)->size();
    const auto byte = static_cast<unsigned char>((*piece_)[offset_]);
    advance(1);
    if (shift < 64) value |= std::uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return true;
  }
  return damaged();
}

bool WireReader::next(WireField& field) {
  if (remaining_ == 0) return false;
  std::uint64_t tag = 0;
  if (!varint(tag)) return false;
  field.number = static_cast<std::uint32_t>(tag >> 3);
  field.type = static_cast<WireField::Type>(tag & 7);
  field.value = 0;
  if (tag > 0xffffffffu || field.number == 0) return damaged();
  switch (field.type) {
    case WireField::kVarint: return varint(field.value);
    case WireField::kFixed64: field.value = 8; break;
    case WireField::kFixed32: field.value = 4; break;
    case WireField::kBytes:
      if (!varint(field.value)) return false;
      break;
    default: return damaged();  // groups, which TensorFlow's messages never had, and what does not exist
  }
  if (field.value > remaining_) return damaged();
  return true;
}

WireReader WireReader::message(const WireField& field) {
  WireReader inner = *this;
  inner.remaining_ = field.value;
  advance(field.value);
  return inner;
}

std::string_view WireReader::text(const WireField& field, WireScratch& scratch) {
  const std::size_t size = field.value;
  if (size == 0) return {};
  while (offset_ >= piece_->size()) offset_ -= (piece_++)->size();
  if (offset_ + size <= piece_->size()) {
    const std::string_view whole = piece_->substr(offset_, size);
    advance(size);
    return whole;
  }
  std::string& joined = scratch.emplace_back(size, '\0');
  copy(field, joined.data());
  return joined;
}

void WireReader::copy(const WireField& field, void* to) { (void)copy(field.value, to); }

bool WireReader::copy(std::size_t size, void* to) {
  if (size > remaining_) return damaged();
  auto* out = static_cast<char*>(to);
  while (size > 0) {
    while (offset_ >= piece_->size()) offset_ -= (piece_++)->size();
    const std::size_t part = std::min(size, piece_->size() - offset_);
    std::memcpy(out, piece_->data() + offset_, part);
    out += part;
    size -= part;
    advance(part);
  }
  return true;
}

bool WireReader::drop(std::size_t size) {
  if (size > remaining_) return damaged();
  advance(size);
  return true;
}

void WireReader::skip(const WireField& field) {
  if (!field.is_varint()) advance(field.value);
}

std::string WireReader::joined() const {
  std::string all(remaining_, '\0');
  WireReader from = *this;
  (void)from.copy(all.size(), all.data());
  return all;
}

}  // namespace argosy::tf
