// WireWriter: writes a protobuf message as a list of pieces. Small fields are copied into one piece; the elements of
// large tensors are not copied, their piece refers to the tensor. Not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "argosy/tensor/tensor.h"

namespace argosy::tf {

// One piece of a message: `bytes`, or the elements of `tensor`. It owns or shares their memory until they are sent.
struct WirePiece {
  std::string bytes;
  Tensor tensor;  // valid: its bytes; else `bytes`

  std::string_view view() const {
    return tensor.valid() ? std::string_view(tensor.raw_as<const char>(), tensor.bytes()) : std::string_view(bytes);
  }
};

class WireWriter {
 public:
  void varint_field(std::uint32_t number, std::uint64_t value);  // left out when 0, as proto3 does
  void bytes_field(std::uint32_t number, std::string_view bytes);
  // Writes the tag and length of a field. The caller then writes its `size` bytes, by any of the calls.
  void begin_bytes(std::uint32_t number, std::uint64_t size);
  void append(std::string_view bytes) { open_ += bytes; }
  // Appends the elements of a plain tensor that owns its memory. Many are shared with the tensor, few are copied.
  void append_elements(const Tensor& tensor);

  std::size_t size() const { return closed_bytes_ + open_.size(); }
  // Returns the message, and empties the writer.
  std::vector<WirePiece> take();

  static std::size_t varint_size(std::uint64_t value);
  static std::size_t field_size(std::uint32_t number, std::uint64_t bytes);  // tag, length and bytes

 private:
  void close();
  std::string open_;
  std::vector<WirePiece> pieces_;
  std::size_t closed_bytes_ = 0;
};

// Returns all pieces as one string, for tests and small messages.
std::string joined(const std::vector<WirePiece>& pieces);

}  // namespace argosy::tf
