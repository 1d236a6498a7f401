// Kernels: case, white space, lengths, numbers, base64.
#include <unicode/unistr.h>

#include <algorithm>

#include "argosy/ops/attr_kernel.h"
#include "argosy/ops/string/each_string.h"
#include "argosy/ops/string/number.h"
#include "argosy/ops/string/string_registration.h"

namespace argosy {

namespace {

// Bytes of memory per byte of input, at most: UTF-16 of the source and of the result, 2 each, and UTF-8 of the result.
constexpr std::int64_t kUnicodeGrowth = 6;

template <bool upper>
Status change_case(KernelContext& c, const AttrMap& attrs) {
  const std::string& encoding = attrs.get_string("encoding");
  if (encoding == "utf-8") {
    return each_string<std::string>(
        c,
        [](const std::string& text, std::string& to) {
          icu::UnicodeString unicode = icu::UnicodeString::fromUTF8(text);
          (upper ? unicode.toUpper() : unicode.toLower()).toUTF8String(to);
          return ok_status();
        },
        kUnicodeGrowth);
  }
  if (!encoding.empty()) {
    return invalid_argument("only utf-8 or '' (no encoding) is supported, received ", encoding);
  }
  return each_string<std::string>(c, [](const std::string& text, std::string& to) {
    to = text;
    for (char& ch : to) {
      if (upper ? ch >= 'a' && ch <= 'z' : ch >= 'A' && ch <= 'Z') ch = static_cast<char>(ch ^ 0x20);
    }
    return ok_status();
  });
}

Status strip(KernelContext& c) {
  return each_string<std::string>(c, [](const std::string& text, std::string& to) {
    to = stripped(text);
    return ok_status();
  });
}

Status length(KernelContext& c, const AttrMap& attrs) {
  const bool characters = attrs.get_string("unit") == "UTF8_CHAR";
  return each_string<std::int32_t>(c, [&](const std::string& text, std::int32_t& to) {
    const auto n = characters ? std::count_if(text.begin(), text.end(), [](char b) { return !is_utf8_continuation(b); })
                              : static_cast<std::ptrdiff_t>(text.size());
    to = static_cast<std::int32_t>(n);
    return ok_status();
  });
}

Status to_number(KernelContext& c) {
  using Types = TypeList<float, double, std::int32_t, std::int64_t, std::uint32_t, std::uint64_t>;
  return dispatch<Types>(c.output_dtype(0), "StringToNumber", [&]<typename T>() {
    return each_string<T>(c, [](const std::string& text, T& to) {
      if (parse_number(text, to)) return ok_status();
      return invalid_argument("StringToNumberOp could not correctly convert string: ", text);
    });
  });
}

// RFC 4648, section 5: the alphabet for URLs and file names.
constexpr std::string_view kBase64UrlAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

std::string encode(std::string_view bytes, bool pad) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t here = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      group = group << 8 | (k < here ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      if (k <= here) {
        text += kBase64UrlAlphabet[group >> (18 - 6 * k) & 63];
      } else if (pad) {
        text += '=';
      }
    }
  }
  return text;
}

Status decode(std::string_view text, std::string& to) {
  if (text.size() % 4 == 0 && text.ends_with('=')) text.remove_suffix(text.ends_with("==") ? 2 : 1);
  if (text.size() % 4 == 1) return invalid_argument("Base64 string length cannot be 1 modulo 4.");
  std::uint32_t bits = 0;
  int have = 0;
  for (const char ch : text) {
    const std::size_t digit = kBase64UrlAlphabet.find(ch);
    if (digit == std::string_view::npos) return invalid_argument("Invalid character found in base64.");
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    have += 6;
    if (have < 8) continue;
    have -= 8;
    to += static_cast<char>(bits >> have);
  }
  return ok_status();
}

constexpr std::int64_t kBase64Growth = 2;  // bytes per byte of input, at most (4 for 3, and padding)

Status encode_base64(KernelContext& c, const AttrMap& attrs) {
  const bool pad = attrs.get_bool("pad");
  return each_string<std::string>(
      c,
      [&](const std::string& bytes, std::string& to) {
        to = encode(bytes, pad);
        return ok_status();
      },
      kBase64Growth);
}

Status decode_base64(KernelContext& c) { return each_string<std::string>(c, decode); }

}  // namespace

void add_kernels_cpu_text(KernelRegistry& kernels) {
  kernels.add("StringLower", "cpu", AttrKernel<change_case<false>>::make);
  kernels.add("StringUpper", "cpu", AttrKernel<change_case<true>>::make);
  kernels.add("StringStrip", "cpu", strip);
  kernels.add("StringLength", "cpu", AttrKernel<length>::make);
  kernels.add("StringToNumber", "cpu", to_number);
  kernels.add("EncodeBase64", "cpu", AttrKernel<encode_base64>::make);
  kernels.add("DecodeBase64", "cpu", decode_base64);
}

}  // namespace argosy
