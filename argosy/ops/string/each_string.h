// Loops over strings, for the family's kernels.
#pragma once

#include <string>
#include <type_traits>

#include "argosy/base/threads/interrupt.h"
#include "argosy/op/kernel/kernel.h"
#include "argosy/ops/string/made_strings.h"

namespace argosy {

// Calls fn(text, to) -> Status for each element of input 0, to write the element of output 0, which has the same shape.
// `growth`: while fn works on a text, it may use this many times the text's size in memory.
template <typename To, typename Fn>
Status each_string(KernelContext& c, Fn&& fn, std::int64_t growth = 1) {
  const Tensor& x = c.input(0);
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, x.shape()));
  const std::string* const from = x.data<std::string>();
  To* const to = y->data<To>();
  Poll poll(64);
  [[maybe_unused]] MadeStrings made;
  for (std::int64_t i = 0; i < x.elements(); ++i) {
    poll();
    if constexpr (std::is_same_v<To, std::string>) {
      ARGOSY_RETURN_IF_ERROR(made.room(growth * static_cast<std::int64_t>(from[i].size())));
    }
    ARGOSY_RETURN_IF_ERROR(fn(from[i], to[i]));
    if constexpr (std::is_same_v<To, std::string>) {
      ARGOSY_RETURN_IF_ERROR(made.add(static_cast<std::int64_t>(to[i].capacity())));
    }
  }
  return ok_status();
}

inline bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
// True for a continuation byte of a UTF-8 character.
inline bool is_utf8_continuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

// Input i as one string; the error names `what`.
inline Result<std::string_view> one_string(const KernelContext& c, int i, std::string_view what) {
  const Tensor& t = c.input(i);
  if (t.shape().rank() != 0) return invalid_argument(what, " must be a scalar, not of shape ", t.shape());
  return std::string_view(*t.data<std::string>());
}

}  // namespace argosy
