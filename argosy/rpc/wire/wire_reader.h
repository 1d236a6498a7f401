// WireReader: reads protobuf's wire format from a message in several pieces, as a transport received it. It does not
// join the pieces.
//
//   for (WireField f; in.next(f);) {
//     if (f.number == 1 && f.is_bytes()) name = in.text(f, scratch); else in.skip(f);
//   }
//   if (!in.ok()) …damaged…
//
// A value type, cheap to copy: the copy continues at the original's position, independently of it. It borrows the
// pieces and the array that lists them. Every length is checked against the remaining bytes before it is used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>

namespace argosy::tf {

struct WireField {
  enum Type : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };
  std::uint32_t number = 0;
  Type type = kVarint;
  std::uint64_t value = 0;  // of a varint; for kBytes the number of bytes that follow, all within the message

  bool is_varint() const { return type == kVarint; }
  bool is_bytes() const { return type == kBytes; }
};

// Owns texts that lay in several pieces and had to be joined. References to elements stay valid.
using WireScratch = std::deque<std::string>;

class WireReader {
 public:
  WireReader() = default;
  explicit WireReader(std::span<const std::string_view> pieces);

  // Reads the next field: its number and type, and a varint's value or the number of bytes that follow. Exactly one of
  // the calls below must then take the bytes. False at the end and when the message is damaged: ok() tells which.
  bool next(WireField& field);
  bool ok() const { return ok_; }
  std::size_t remaining() const { return remaining_; }

  // Each takes the bytes of `field`:
  // * message() returns a reader of them;
  // * text() returns a view into a piece, or joins them in `scratch`;
  // * copy() copies them;
  // * skip() passes over a field of any type.
  WireReader message(const WireField& field);
  std::string_view text(const WireField& field, WireScratch& scratch);
  void copy(const WireField& field, void* to);
  void skip(const WireField& field);

  // Raw reads: copy or skip the next `size` bytes, or read a varint. False: not enough bytes remain, or the varint is
  // damaged.
  bool copy(std::size_t size, void* to);
  bool drop(std::size_t size);
  bool varint(std::uint64_t& value);

  // Returns the remaining bytes as one string.
  std::string joined() const;

 private:
  bool damaged() {
    ok_ = false;
    remaining_ = 0;
    return false;
  }
  void advance(std::size_t size);

  const std::string_view* piece_ = nullptr;
  std::size_t offset_ = 0;     // within *piece_
  std::size_t remaining_ = 0;  // in this message, over all pieces
  bool ok_ = true;
};

}  // namespace argosy::tf
