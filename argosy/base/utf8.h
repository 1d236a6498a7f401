// UTF-8 (RFC 3629). Text for other programs must be valid UTF-8; users' bytes need not be.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace argosy {

// The length in bytes of the character that `bytes` begins with. 0: no valid character; overlong forms, surrogates and
// code points above U+10FFFF are not valid.
std::size_t utf8_length(std::string_view bytes);

// Returns the text with each byte that belongs to no character replaced by an escape such as "\xfd". Protocol Buffers
// and Python reject text with such bytes.
std::string escape_non_utf8(std::string text);

// The longest prefix of a valid text that has whole characters and at most `bytes` bytes.
std::string_view utf8_prefix(std::string_view text, std::size_t bytes);

}  // namespace argosy
