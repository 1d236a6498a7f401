// The instrumentation of a shared object of kernels (on_host.h). The object is compiled with the thread and alignment
// sanitizers, but linked with this file instead of their runtimes. So it calls these functions at every memory access.
// They are hidden: a process with the real runtimes keeps them for its other code.
#include "argosy/device/cuda/fake/on_host.h"

namespace {

using argosy::on_host::Access;

// `current` and what it points to are what a GPU has in registers.
inline void tell(const void* at, std::size_t bytes, Access access, const void* code) {
  argosy::on_host::Block* const block = argosy::on_host::current;
  if (block == nullptr || at == &argosy::on_host::current) return;
  const auto beyond = reinterpret_cast<std::uintptr_t>(at) - reinterpret_cast<std::uintptr_t>(block);
  if (beyond >= sizeof *block) block->touched(at, bytes, access, code);
}

}  // namespace

// Names and arguments are the compiler's.
#define HIDDEN __attribute__((visibility("hidden")))
#define TELL(name, bytes)                                                                                            \
  HIDDEN void __tsan_read##name(void* at) { tell(at, bytes, Access::kRead, __builtin_return_address(0)); }           \
  HIDDEN void __tsan_write##name(void* at) { tell(at, bytes, Access::kWrite, __builtin_return_address(0)); }         \
  HIDDEN void __tsan_unaligned_read##name(void* at) { tell(at, bytes, Access::kRead, __builtin_return_address(0)); } \
  HIDDEN void __tsan_unaligned_write##name(void* at) { tell(at, bytes, Access::kWrite, __builtin_return_address(0)); }

extern "C" {

TELL(1, 1)
TELL(2, 2)
TELL(4, 4)
TELL(8, 8)
TELL(16, 16)
HIDDEN void __tsan_read_range(void* at, std::size_t bytes) {
  tell(at, bytes, Access::kRead, __builtin_return_address(0));
}
HIDDEN void __tsan_write_range(void* at, std::size_t bytes) {
  tell(at, bytes, Access::kWrite, __builtin_return_address(0));
}
HIDDEN void* __tsan_memset(void* at, int value, std::size_t bytes) {
  tell(at, bytes, Access::kWrite, __builtin_return_address(0));
  return std::memset(at, value, bytes);
}
HIDDEN void* __tsan_memcpy(void* to, const void* from, std::size_t bytes) {
  tell(from, bytes, Access::kRead, __builtin_return_address(0));
  tell(to, bytes, Access::kWrite, __builtin_return_address(0));
  return std::memcpy(to, from, bytes);
}
HIDDEN void* __tsan_memmove(void* to, const void* from, std::size_t bytes) {
  tell(from, bytes, Access::kRead, __builtin_return_address(0));
  tell(to, bytes, Access::kWrite, __builtin_return_address(0));
  return std::memmove(to, from, bytes);
}
HIDDEN void __tsan_init() {}
HIDDEN void __tsan_func_entry(void*) {}
HIDDEN void __tsan_func_exit() {}

struct Mismatch {  // of an address and a type
  const char* file;
  unsigned line, column;
  const void* type;
  unsigned char log_alignment, kind;
};
HIDDEN void __ubsan_handle_type_mismatch_v1(const Mismatch* what, std::uintptr_t at) {
  if (argosy::on_host::current == nullptr) return;
  argosy::on_host::current->misaligned(reinterpret_cast<const void*>(at), what->file, what->line,
                                       1u << what->log_alignment);
}
HIDDEN void __ubsan_handle_type_mismatch_v1_abort(const Mismatch* what, std::uintptr_t at) {
  __ubsan_handle_type_mismatch_v1(what, at);
}

}  // extern "C"
