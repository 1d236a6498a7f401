// WireReader: protobuf's wire format, read from memory in pieces as a transport received it, without joining them.
//
//   for (WireField f; in.next(f);) {
//     if (f.number == 1 && f.is_bytes()) name = in.text(f, scratch); else in.skip(f);
//   }
//   if (!in.ok()) …damaged…
//
// A cheap value: a copy reads on by itself from where the original stands. Borrowed: the pieces and the array that
// lists them must outlive it. Every length is checked against what is there before it is believed.
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
  std::uint64_t value = 0;  // of a varint; of kBytes: how many follow, all within the message

  bool is_varint() const { return type == kVarint; }
  bool is_bytes() const { return type == kBytes; }
};

// Text that had to be joined lives here; references stay valid.
using WireScratch = std::deque<std::string>;

class WireReader {
 public:
  WireReader() = default;
  explicit WireReader(std::span<const std::string_view> pieces);

  // The next field: its number and type, a varint's value or the length of the bytes that follow, which must then be
  // taken by exactly one of the calls below. False at the end, or where the message is damaged: ok() tells which.
  bool next(WireField& field);
  bool ok() const { return ok_; }
  std::size_t remaining() const { return remaining_; }

  // Takes the bytes of `field`: as a message of its own; as text (a view into a piece, or joined in `scratch`); copied;
  // or not at all. skip() takes fields of any type.
  WireReader message(const WireField& field);
  std::string_view text(const WireField& field, WireScratch& scratch);
  void copy(const WireField& field, void* to);
  void skip(const WireField& field);

  // Without a field: the next `size` bytes, copied or passed over, and a varint. False when there are not so many, or
  // it is damaged.
  bool copy(std::size_t size, void* to);
  bool drop(std::size_t size);
  bool varint(std::uint64_t& value);

  // All that remains, as one string.
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
