// UTF-8 (RFC 3629): what texts for other programs must be, and bytes of users need not be.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace argosy {

// The length of the character that `bytes` begins with; 0: they begin with none. No overlong form is one, no surrogate,
// and nothing above U+10FFFF.
std::size_t utf8_length(std::string_view bytes);

// The text, with each byte that is of no character as "\xfd". A message with such a byte would not arrive: Protocol
// Buffers and Python refuse it.
std::string escape_non_utf8(std::string text);

// As many whole characters of a valid text as `bytes` hold.
std::string_view utf8_prefix(std::string_view text, std::size_t bytes);

}  // namespace argosy
