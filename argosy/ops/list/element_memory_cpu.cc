#include "argosy/ops/list/element_memory.h"

#include <cstring>

#include "argosy/base/checked.h"
#include "argosy/device/device.h"

namespace argosy {

Status room_for_places(const KernelContext& c, std::int64_t count, std::size_t bytes_each) {
  constexpr std::int64_t kAlwaysRoom = 4096;
  if (count <= kAlwaysRoom) return ok_status();
  const Allocator* const host = c.fields().host_allocator != nullptr ? c.fields().host_allocator : c.fields().allocator;
  const auto cap = static_cast<std::int64_t>(host->stats().limit_bytes);
  const auto bytes = checked_mul(count, static_cast<std::int64_t>(bytes_each));
  if (bytes && (cap == 0 || *bytes <= cap)) return ok_status();
  return resource_exhausted("host memory: ", count, " places of ", bytes_each, " bytes asked for, ",
                            format_bytes(static_cast<std::uint64_t>(cap)), " allowed")
      .with_id("ARG-MEM-002");
}

Allocator& written_by_host(Allocator& wanted) { return wanted.on_host() ? wanted : host_allocator(); }

Allocator& element_memory(const KernelContext& c, DType dtype) {
  Allocator* const host = c.fields().host_allocator;
  const bool here = host != nullptr && (!is_plain(dtype) || dtype == DType::kInt32);
  return here ? *host : c.allocator();
}

Status copy_element(const KernelContext& c, const Tensor& to, const Tensor& from) {
  Allocator& memory = element_memory(c, to.dtype());
  if (!memory.on_host()) return memory.copy_within(to.raw(), from.raw(), from.bytes());
  copy_elements(to, from);
  return ok_status();
}

Result<Element> kept_element(const KernelContext& c, const Tensor& t) {
  Allocator& memory = element_memory(c, t.dtype());
  if (t.buffer().owned()) return Element{t, &memory};
  ARGOSY_ASSIGN_OR_RETURN(Tensor copy, Tensor::allocate(t.dtype(), t.shape(), memory));
  ARGOSY_RETURN_IF_ERROR(copy_element(c, copy, t));
  return Element{std::move(copy), &memory};
}

Status give_element(KernelContext& c, int i, Tensor value) {
  // A GPU's allocator copies into what was planned, but for what belongs into the host's memory.
  const bool beside = c.fields().host_allocator != nullptr && element_memory(c, value.dtype()).on_host();
  if (beside && c.fields().outputs[i].planned && is_plain(value.dtype())) {
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(i, value.shape()));
    copy_elements(*y, value);
    return ok_status();
  }
  c.set_output(i, std::move(value));
  return ok_status();
}

Result<Tensor> on_host(const Element& element) {
  if (element.home == nullptr || element.home->on_host()) return element.value;
  const Tensor& there = element.value;
  ARGOSY_ASSIGN_OR_RETURN(Tensor here, Tensor::allocate(there.dtype(), there.shape(), host_allocator()));
  ARGOSY_RETURN_IF_ERROR(element.home->copy_out(here.raw(), there.raw(), there.bytes()));
  return here;
}

Result<Tensor> sent(const KernelContext& c, const Tensor& here) {
  Allocator& memory = element_memory(c, here.dtype());
  if (memory.on_host()) return here;
  ARGOSY_ASSIGN_OR_RETURN(Tensor there, Tensor::allocate(here.dtype(), here.shape(), memory));
  if (here.bytes() == 0) return there;
  LaunchQueue* const queue = c.device()->launch_queue();
  if (queue == nullptr) return internal_error("a memory that the host cannot read, and no queue to reach it by");
  // What is sent is taken away, or stays until it is there: nobody else can let go of it meanwhile.
  ARGOSY_ASSIGN_OR_RETURN(const Event arrives,
                          queue->copy_in(Buffer(there.buffer().owner(), there.raw(), there.bytes()),
                                         Buffer(here.buffer().owner(), here.raw(), here.bytes())));
  ARGOSY_RETURN_IF_ERROR(queue->wait(arrives));
  return there;
}

Result<Tensor> brought(const KernelContext& c, const Element& element) {
  Allocator& memory = element_memory(c, element.value.dtype());
  const bool here = element.home == &memory || element.home == nullptr;
  if (here || (element.home->on_host() && memory.on_host())) return element.value;
  ARGOSY_ASSIGN_OR_RETURN(const Tensor host, on_host(element));
  return sent(c, host);
}

Result<Tensor> zeros_of(const Tensor& t, Allocator& wanted) {
  ARGOSY_ASSIGN_OR_RETURN(Tensor zeros, Tensor::allocate(t.dtype(), t.shape(), written_by_host(wanted)));
  if (is_plain(t.dtype()) && zeros.bytes() > 0) std::memset(zeros.raw(), 0, zeros.bytes());
  for (std::int64_t i = 0; t.dtype() == DType::kVariant && i < t.elements(); ++i) {
    const auto& value = t.data<Variant>()[i].value();
    if (!value) continue;
    ARGOSY_ASSIGN_OR_RETURN(zeros.data<Variant>()[i], value->zeros_like(wanted));
  }
  return zeros;
}

namespace {

Status add_variants(const Tensor& a, const Tensor& b, Allocator& wanted, const Tensor& sum) {
  for (std::int64_t i = 0; i < a.elements(); ++i) {
    const auto &own = a.data<Variant>()[i].value(), &other = b.data<Variant>()[i].value();
    if (!own || !other) return invalid_argument("an empty variant cannot be added");
    ARGOSY_ASSIGN_OR_RETURN(sum.data<Variant>()[i], own->plus(*other, wanted));
  }
  return ok_status();
}

}  // namespace

Result<Element> sum_of(const Element& a, const Element& b, Allocator& wanted, CopyEngine* copy_engine) {
  const DType dtype = a.value.dtype();
  const Shape& shape = a.value.shape();
  if (copy_engine != nullptr && !wanted.on_host() && a.home == &wanted && b.home == &wanted) {
    ARGOSY_ASSIGN_OR_RETURN(Tensor sum, Tensor::allocate(dtype, shape, wanted));
    if (copy_engine->add(sum.raw(), a.value.raw(), b.value.raw(), shape.elements(), dtype)) {
      return Element{std::move(sum), &wanted};
    }
  }
  ARGOSY_ASSIGN_OR_RETURN(const Tensor x, on_host(a));
  ARGOSY_ASSIGN_OR_RETURN(const Tensor y, on_host(b));
  Allocator& memory = written_by_host(wanted);
  ARGOSY_ASSIGN_OR_RETURN(Tensor sum, Tensor::allocate(dtype, shape, memory));
  if (dtype == DType::kVariant) {
    ARGOSY_RETURN_IF_ERROR(add_variants(x, y, wanted, sum));
    return Element{std::move(sum), &memory};
  }
  ARGOSY_RETURN_IF_ERROR(dispatch<NumberTypes>(dtype, "AddN", [&]<typename T>() {
    for (std::int64_t i = 0; i < sum.elements(); ++i) {
      sum.data<T>()[i] = static_cast<T>(x.data<T>()[i] + y.data<T>()[i]);
    }
    return ok_status();
  }));
  return Element{std::move(sum), &memory};
}

Result<Tensor> zero_element(const KernelContext& c, DType dtype, const Shape& shape) {
  Allocator& memory = element_memory(c, dtype);
  Allocator& first = memory.on_host() ? memory : host_allocator();
  ARGOSY_ASSIGN_OR_RETURN(Tensor zeros, Tensor::allocate(dtype, shape, first));
  if (is_plain(dtype)) std::memset(zeros.raw(), 0, zeros.bytes());
  return sent(c, zeros);
}

}  // namespace argosy
