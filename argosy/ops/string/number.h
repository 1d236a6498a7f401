// Numbers out of text, as StringToNumber and DecodeCSV read them. White space around is fine, other text is not.
// Floating numbers may be hexadecimal as in C, "inf" and "nan"; too large ones are infinities. Internal to argosy/ops.
#pragma once

#include <cstdint>
#include <string_view>

namespace argosy {

// Without white space at either end.
std::string_view stripped(std::string_view text);

// False: it is no such number, or out of range.
bool parse_number(std::string_view text, float& to);
bool parse_number(std::string_view text, double& to);
bool parse_number(std::string_view text, std::int32_t& to);
bool parse_number(std::string_view text, std::int64_t& to);
bool parse_number(std::string_view text, std::uint32_t& to);
bool parse_number(std::string_view text, std::uint64_t& to);

}  // namespace argosy
