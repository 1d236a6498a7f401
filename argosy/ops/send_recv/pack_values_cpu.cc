#include <cstring>

#include "argosy/base/checked.h"
#include "argosy/op/kernel/kernel.h"
#include "argosy/ops/send_recv/pack_values.h"

namespace argosy {

namespace {

constexpr std::size_t kAlignment = 8, kMostRank = 254;

struct Header {
  std::uint32_t dtype = 0, rank = 0;
};

std::size_t aligned(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

std::size_t packed_bytes(const Tensor& t) {
  return sizeof(Header) + t.shape().sizes().size() * sizeof(std::uint64_t) + aligned(t.bytes());
}

Status pack(KernelContext& c) {
  std::size_t total = 0;
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (!is_plain(c.input(i).dtype()))
      return invalid_argument("_PackValues: value ", i, " is ", dtype_name(c.input(i).dtype()), ", which has no bytes");
    total += packed_bytes(c.input(i));
  }
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const out, c.output(0, Shape({static_cast<std::int64_t>(total)})));
  std::byte* to = static_cast<std::byte*>(out->raw());
  const auto write = [&to](const void* from, std::size_t bytes) {
    if (bytes > 0) std::memcpy(to, from, bytes);
    to += bytes;
  };
  for (int i = 0; i < c.num_inputs(); ++i) {
    const Tensor& value = c.input(i);
    const Header header{static_cast<std::uint32_t>(value.dtype()),
                        static_cast<std::uint32_t>(value.shape().sizes().size())};
    write(&header, sizeof header);
    for (const std::int64_t size : value.shape().sizes()) write(&size, sizeof size);
    write(value.raw(), value.bytes());
    const std::size_t gap = aligned(value.bytes()) - value.bytes();
    std::memset(to, 0, gap);
    to += gap;
  }
  return ok_status();
}

// The message comes from another process: nothing in it is believed.
class Message {
 public:
  explicit Message(const Tensor& bytes) : at_(static_cast<const std::byte*>(bytes.raw())), left_(bytes.bytes()) {}
  bool read(void* to, std::size_t bytes) {
    if (bytes > left_) return false;
    if (bytes > 0) std::memcpy(to, at_, bytes);
    skip(bytes);
    return true;
  }
  // Null where there are not so many left.
  const std::byte* take(std::size_t bytes) {
    if (bytes > left_) return nullptr;
    const std::byte* const here = at_;
    skip(bytes);
    return here;
  }
  std::size_t left() const { return left_; }

 private:
  void skip(std::size_t bytes) {
    at_ += bytes;
    left_ -= bytes;
  }
  const std::byte* at_;
  std::size_t left_;
};

Status damaged(int value, std::string_view what) {
  return invalid_argument("_UnpackValues: value ", value, " of the message ", what).with_id("ARG-SEND-007");
}

Status unpack_one(KernelContext& c, int i, Message& message) {
  Header header;
  if (!message.read(&header, sizeof header)) return damaged(i, "is missing");
  if (header.dtype != static_cast<std::uint32_t>(c.output_dtype(i)))
    return damaged(i, str_cat("is not ", dtype_name(c.output_dtype(i))));
  if (header.rank > kMostRank) return damaged(i, "has too many axes");
  std::vector<std::int64_t> sizes(header.rank);
  if (!message.read(sizes.data(), sizes.size() * sizeof(std::int64_t))) return damaged(i, "has no shape");
  const auto shape = Shape::make(sizes);
  if (!shape.ok()) return damaged(i, "has no sound shape");
  const auto elements = static_cast<std::size_t>(shape->elements());
  const std::size_t each = element_bytes(c.output_dtype(i));
  if (elements > message.left() / each) return damaged(i, "is cut off");
  const std::byte* const from = message.take(elements * each);
  if (message.take(aligned(elements * each) - elements * each) == nullptr) return damaged(i, "is cut off");
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const out, c.output(i, *shape));
  if (elements > 0) std::memcpy(out->raw(), from, elements * each);
  return ok_status();
}

Status unpack(KernelContext& c) {
  if (c.input(0).dtype() != DType::kUint8) return damaged(0, "is not bytes");
  Message message(c.input(0));
  for (int i = 0; i < c.num_outputs(); ++i) ARGOSY_RETURN_IF_ERROR(unpack_one(c, i, message));
  if (message.left() > 0) return damaged(c.num_outputs(), "is one more than are wanted");
  return ok_status();
}

}  // namespace

void add_kernels_pack_values(KernelRegistry& kernels) {
  kernels.add("_PackValues", "cpu", pack);
  kernels.add("_UnpackValues", "cpu", unpack);
}

}  // namespace argosy
