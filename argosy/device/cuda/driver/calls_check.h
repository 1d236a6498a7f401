// Compares our declarations of a vendor's functions with those of its header, at compile time. Both must have the same
// number of parameters, each passed the same way: pointers; enumerators as int; structs of equal size; numbers of the
// same type. For *_calls_check.cc.
#pragma once

#include <type_traits>

namespace argosy::cuda {

template <typename Ours, typename Theirs>
constexpr bool passed_alike() {
  if constexpr (std::is_pointer_v<Ours>) {
    return std::is_pointer_v<Theirs>;
  } else if constexpr (std::is_enum_v<Theirs>) {
    return std::is_same_v<Ours, int>;
  } else if constexpr (std::is_class_v<Ours> && std::is_class_v<Theirs>) {
    return sizeof(Ours) == sizeof(Theirs) && alignof(Ours) == alignof(Theirs) && std::is_trivially_copyable_v<Ours> &&
           std::is_trivially_copyable_v<Theirs>;
  } else {
    return std::is_same_v<Ours, Theirs>;
  }
}

template <typename Ours, typename Theirs>
struct Alike : std::false_type {};
template <typename R, typename... Ours, typename S, typename... Theirs>
requires(sizeof...(Ours) == sizeof...(Theirs)) struct Alike<R (*)(Ours...), S(Theirs...)>
    : std::bool_constant<passed_alike<R, S>() && (passed_alike<Ours, Theirs>() && ...)> {
};
template <typename Ours, typename Theirs>
constexpr bool kAlike = Alike<Ours, Theirs>::value;

}  // namespace argosy::cuda
