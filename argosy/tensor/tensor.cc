#include "argosy/tensor/tensor.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "argosy/base/checked.h"
#include "argosy/tensor/string_budget.h"

namespace argosy {

namespace {

// Below this nobody asks whether there is room for objects.
constexpr std::int64_t kAlwaysRoom = std::int64_t{1} << 20;
// Smaller lists are not counted either.
constexpr std::int64_t kUncounted = 4096;

// An object whose destruction may be deferred: a node of a list.
struct Freed {
  virtual ~Freed() = default;
  Freed* next = nullptr;
};

// Handles and values lead to tensors of handles and values: a graph can chain any number of them. Each would be freed
// within the one before, on one stack. From some levels on they wait until the outermost is done.
void free_objects(Freed* objects) {
  constexpr int kLevels = 64;
  thread_local int level = 0;
  thread_local Freed* waiting = nullptr;
  if (level == kLevels) {
    objects->next = waiting;
    waiting = objects;
    return;
  }
  ++level;
  delete objects;
  while (level == 1 && waiting != nullptr) delete std::exchange(waiting, waiting->next);
  --level;
}

// Objects in the host's memory, and what they take of its budget.
template <typename T>
struct Objects final : Freed {
  std::vector<T> values;
  HostBudget::Reservation of_objects, of_contents;
  std::atomic<bool> contents_counted{false};
};
// By its type memory is known again as Objects.
template <typename T>
struct DeleteObjects {
  void operator()(void* objects) const { free_objects(static_cast<Objects<T>*>(objects)); }
};

// Bytes that a std::string stores inline, and malloc's overhead of a heap block.
constexpr std::size_t kInside = 15, kOfMalloc = 16;

// Host memory holding n default-constructed objects, destroyed with the last copy. They lie outside the allocator's
// memory, but may not take more than its cap, or than the machine has: the sizes come from graphs.
template <typename T>
Result<Buffer> object_buffer(std::int64_t n, const Allocator& allocator) {
  const auto bytes = checked_mul(n, static_cast<std::int64_t>(sizeof(T)));
  if (!bytes || *bytes > kAlwaysRoom) {
    const auto cap = static_cast<std::int64_t>(allocator.stats().limit_bytes);
    const std::int64_t machine = std::int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
    const std::int64_t most = cap > 0 ? std::min(cap, machine) : machine;
    if (!bytes || *bytes > most) {
      return resource_exhausted("host memory: ", n, " strings or handles of ", sizeof(T), " bytes asked for, ",
                                format_bytes(static_cast<std::uint64_t>(most)), " allowed")
          .with_id("ARG-MEM-002");
    }
  }
  auto objects = std::make_unique<Objects<T>>();
  if (*bytes > kUncounted) {
    ARGOSY_ASSIGN_OR_RETURN(objects->of_objects,
                            host_budget().reserve(HostUse::kStrings, *bytes, "a tensor of strings or handles"));
  }
  objects->values = std::vector<T>(static_cast<std::size_t>(n));
  void* const data = objects->values.data();
  return Buffer(std::shared_ptr<void>(objects.release(), DeleteObjects<T>()), data, static_cast<std::size_t>(*bytes));
}

}  // namespace

Status reserve_strings(const Tensor& t, std::string_view what) {
  if (t.dtype() != DType::kString || !t.buffer().owned()) return ok_status();
  const std::shared_ptr<void>& owner = t.buffer().owner();
  if (std::get_deleter<DeleteObjects<std::string>>(owner) == nullptr) return ok_status();
  auto& objects = *static_cast<Objects<std::string>*>(owner.get());
  if (objects.contents_counted.exchange(true, std::memory_order_relaxed)) return ok_status();
  std::size_t bytes = 0;
  for (const std::string& s : objects.values) bytes += s.capacity() > kInside ? s.capacity() + kOfMalloc : 0;
  ARGOSY_ASSIGN_OR_RETURN(objects.of_contents,
                          host_budget().reserve(HostUse::kStrings, static_cast<std::int64_t>(bytes), what));
  return ok_status();
}

Result<Tensor> allocate_reserved(HostUse use, DType dtype, Shape shape, std::string_view what) {
  struct Held {
    HostBudget::Reservation reservation;
    Buffer memory;
  };
  const auto bytes = checked_mul(shape.elements(), static_cast<std::int64_t>(element_bytes(dtype)));
  if (!bytes) return resource_exhausted("a tensor of shape ", shape, " exceeds 2^63 bytes").with_id("ARG-MEM-002");
  auto held = std::make_shared<Held>();
  ARGOSY_ASSIGN_OR_RETURN(held->reservation, host_budget().reserve(use, *bytes, what));
  ARGOSY_ASSIGN_OR_RETURN(const Tensor t, Tensor::allocate(dtype, shape, host_allocator()));
  held->memory = t.buffer();
  const Buffer memory = held->memory;
  return Tensor(dtype, std::move(shape), Buffer(std::move(held), memory.data(), memory.bytes()));
}

Tensor Tensor::scalar(const char* value) { return scalar(std::string(value)); }

Result<Tensor> Tensor::allocate(DType dtype, Shape shape, Allocator& allocator) {
  const std::int64_t n = shape.elements();
  const auto of_objects = [&](Result<Buffer> objects) -> Result<Tensor> {
    if (!objects.ok()) return std::move(objects).status();
    return Tensor(dtype, std::move(shape), *std::move(objects));
  };
  switch (dtype) {
    case DType::kString: return of_objects(object_buffer<std::string>(n, allocator));
    case DType::kResource: return of_objects(object_buffer<ResourceHandle>(n, allocator));
    case DType::kVariant: return of_objects(object_buffer<Variant>(n, allocator));
    default: break;
  }
  const auto bytes = checked_mul(n, static_cast<std::int64_t>(element_bytes(dtype)));
  if (!bytes) return resource_exhausted("a tensor of shape ", shape, " exceeds 2^63 bytes").with_id("ARG-MEM-002");
  ARGOSY_ASSIGN_OR_RETURN(Buffer buffer, allocator.allocate(static_cast<std::size_t>(*bytes)));
  return Tensor(dtype, std::move(shape), std::move(buffer));
}

Tensor Tensor::zeros(DType dtype, Shape shape) {
  Tensor t = allocate(dtype, std::move(shape), host_allocator()).value();
  if (is_plain(dtype)) std::memset(t.raw(), 0, t.bytes());
  return t;
}

Tensor Tensor::reshaped(Shape shape) const {
  ARGOSY_CHECK(shape.elements() == elements());
  return Tensor(dtype_, std::move(shape), buffer_);
}

Tensor Tensor::rows(std::int64_t begin, std::int64_t end) const {
  ARGOSY_CHECK(shape_.rank() >= 1 && 0 <= begin && begin <= end && end <= shape_[0]);
  const std::size_t row = shape_[0] == 0 ? 0 : bytes() / static_cast<std::size_t>(shape_[0]);
  return Tensor(dtype_, shape_.with(0, end - begin),
                buffer_.part(row * static_cast<std::size_t>(begin), row * static_cast<std::size_t>(end - begin)));
}

Tensor Tensor::owned() const { return buffer_.owned() || !valid() ? *this : clone(); }

Tensor Tensor::clone() const {
  if (!valid()) return {};
  Tensor copy = allocate(dtype_, shape_, host_allocator()).value();
  copy_elements(copy, *this);
  return copy;
}

void copy_elements(const Tensor& to, const Tensor& from) {
  ARGOSY_CHECK(to.dtype() == from.dtype() && to.elements() == from.elements());
  switch (to.dtype()) {
    case DType::kString: std::copy_n(from.data<std::string>(), from.elements(), to.data<std::string>()); return;
    case DType::kResource: std::copy_n(from.data<ResourceHandle>(), from.elements(), to.data<ResourceHandle>()); return;
    case DType::kVariant: std::copy_n(from.data<Variant>(), from.elements(), to.data<Variant>()); return;
    default:
      if (from.bytes() > 0) std::memcpy(to.raw(), from.raw(), from.bytes());
  }
}

std::string Tensor::to_string(int limit) const {
  std::string text = str_cat(dtype_name(dtype_), shape_.to_string());
  if (!valid()) return text;
  const std::int64_t shown = std::min<std::int64_t>(limit, elements());
  text += " {";
  for (std::int64_t i = 0; i < shown; ++i) {
    if (i > 0) text += ", ";
    if (dtype_ == DType::kString) {
      text += str_cat("\"", data<std::string>()[i], "\"");
    } else if (dtype_ == DType::kBool) {
      text += data<bool>()[i] ? "true" : "false";
    } else if (dtype_ == DType::kResource) {
      text += data<ResourceHandle>()[i].name();
    } else if (is_complex(dtype_)) {
      const auto value = dtype_ == DType::kComplex64 ? std::complex<double>(data<std::complex<float>>()[i])
                                                     : data<std::complex<double>>()[i];
      text += str_cat("(", value.real(), ",", value.imag(), ")");
    } else {
      const Status printed = dispatch<RealTypes>(dtype_, "print", [&]<typename T>() {
        if constexpr (std::is_integral_v<T>) {
          text += std::to_string(data<T>()[i]);
        } else if constexpr (std::is_same_v<T, double>) {
          text += str_cat(data<T>()[i]);
        } else {
          text += str_cat(static_cast<float>(data<T>()[i]));
        }
        return ok_status();
      });
      if (!printed.ok()) text += "?";
    }
  }
  if (shown < elements()) text += ", …";
  return text + "}";
}

Result<std::vector<std::int64_t>> to_int64s(const Tensor& t, std::string_view what) {
  if (t.shape().rank() > 1) return invalid_argument(what, " must be a scalar or a vector, not of shape ", t.shape());
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(t.elements()));
  if (t.dtype() == DType::kInt32) {
    std::copy_n(t.data<std::int32_t>(), t.elements(), numbers.begin());
  } else if (t.dtype() == DType::kInt64) {
    std::copy_n(t.data<std::int64_t>(), t.elements(), numbers.begin());
  } else {
    return invalid_argument(what, " must be int32 or int64, not ", dtype_name(t.dtype()));
  }
  return numbers;
}

Result<std::int64_t> to_int64(const Tensor& t, std::string_view what) {
  ARGOSY_ASSIGN_OR_RETURN(const auto numbers, to_int64s(t, what));
  if (numbers.size() != 1) return invalid_argument(what, " must be one number, not of shape ", t.shape());
  return numbers[0];
}

Result<Shape> to_shape(const Tensor& t, std::string_view what) {
  ARGOSY_ASSIGN_OR_RETURN(const auto numbers, to_int64s(t, what));
  auto shape = Shape::make(numbers);
  if (!shape.ok()) return invalid_argument(what, ": ", shape.status().message());
  return shape;
}

}  // namespace argosy
