// Parses numbers as StringToNumber and DecodeCSV do. White space around the number is allowed, other text is not.
// Floats may be hexadecimal as in C, "inf" or "nan"; too large ones become infinities. Internal to argosy/ops.
#pragma once

#include <cstdint>
#include <string_view>

namespace argosy {

// The text without white space at either end.
std::string_view stripped(std::string_view text);

// Returns false if the text is no number of that type, or an integer out of range.
bool parse_number(std::string_view text, float& to);
bool parse_number(std::string_view text, double& to);
bool parse_number(std::string_view text, std::int32_t& to);
bool parse_number(std::string_view text, std::int64_t& to);
bool parse_number(std::string_view text, std::uint32_t& to);
bool parse_number(std::string_view text, std::uint64_t& to);

}  // namespace argosy
