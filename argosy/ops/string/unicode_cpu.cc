// Kernels: code points and encodings, by ICU.
#include <unicode/uchar.h>
#include <unicode/ucnv.h>
#include <unicode/ucnv_cb.h>
#include <unicode/unistr.h>
#include <unicode/uscript.h>

#include <memory>

#include "argosy/ops/attr_kernel.h"
#include "argosy/ops/string/each_string.h"
#include "argosy/ops/string/string_registration.h"
#include "argosy/tensor/ints.h"

namespace argosy {

namespace {

// What to do about bytes that are no characters, from the attributes all these ops share.
struct OnError {
  static Result<OnError> read(const AttrMap& attrs) {
    OnError e;
    const std::string& errors = attrs.get_string("errors");
    e.strict = errors == "strict";
    e.ignore = errors == "ignore";
    const std::int64_t replacement = attrs.get_int("replacement_char");
    if (replacement < UCHAR_MIN_VALUE || replacement > UCHAR_MAX_VALUE) {
      return invalid_argument("replacement_char out of unicode codepoint range: ", replacement);
    }
    e.replacement = static_cast<UChar32>(replacement);
    e.controls = attrs.get_or<bool>("replace_control_characters", false);
    return e;
  }

  bool strict = false, ignore = false, controls = false;
  UChar32 replacement = 0xFFFD;
};

// Bytes in one encoding as code points. Not thread-safe.
class UnicodeDecoder {
 public:
  static Result<std::unique_ptr<UnicodeDecoder>> make(const std::string& encoding) {
    UErrorCode error = U_ZERO_ERROR;
    UConverter* converter = ucnv_open(encoding.c_str(), &error);
    if (U_FAILURE(error) != 0) {
      return invalid_argument("Could not create converter for input encoding: ", encoding);
    }
    return std::unique_ptr<UnicodeDecoder>(new UnicodeDecoder(converter));
  }
  UnicodeDecoder(const UnicodeDecoder&) = delete;
  UnicodeDecoder& operator=(const UnicodeDecoder&) = delete;
  ~UnicodeDecoder() { ucnv_close(converter_); }

  // fn(code point, first byte, is it what bad bytes became?) for every character.
  template <typename Fn>
  void each(std::string_view text, Fn&& fn) {
    ucnv_reset(converter_);
    const char* at = text.data();
    const char* const end = at + text.size();
    while (at < end) {
      const auto start = static_cast<std::int64_t>(at - text.data());
      bad_ = false;
      UErrorCode error = U_ZERO_ERROR;
      const UChar32 ch = ucnv_getNextUChar(converter_, &at, end, &error);
      if (error == U_INDEX_OUTOFBOUNDS_ERROR) return;  // only a byte order mark was left
      if (U_FAILURE(error) != 0) {
        fn(UChar32{0xFFFD}, start, true);
        return;
      }
      fn(ch, start, bad_);
    }
  }

 private:
  explicit UnicodeDecoder(UConverter* converter) : converter_(converter) {
    UErrorCode error = U_ZERO_ERROR;
    ucnv_setToUCallBack(converter_, on_bad_bytes, this, nullptr, nullptr, &error);
  }
  static void on_bad_bytes(const void* self, UConverterToUnicodeArgs* args, const char*, int32_t,
                           UConverterCallbackReason reason, UErrorCode* error) {
    if (reason > UCNV_IRREGULAR) return;  // told to reset or to close
    static_cast<UnicodeDecoder*>(const_cast<void*>(self))->bad_ = true;
    *error = U_ZERO_ERROR;
    const UChar replacement = 0xFFFD;
    ucnv_cbToUWriteUChars(args, &replacement, 1, 0, error);
  }

  UConverter* converter_;
  bool bad_ = false;
};

// ICU's form of a text, and four bytes for each of its bytes.
constexpr std::int64_t kUnicodeGrowth = 6;

Status malformed() { return invalid_argument("Invalid formatting on input string"); }

template <typename T>
Status decode_rows(KernelContext& c, const AttrMap& attrs) {
  ARGOSY_ASSIGN_OR_RETURN(const OnError on, OnError::read(attrs));
  ARGOSY_ASSIGN_OR_RETURN(const auto decoder, UnicodeDecoder::make(attrs.get_string("input_encoding")));
  const Tensor& x = c.input(0);
  std::vector<std::int32_t> characters;
  std::vector<std::int64_t> starts;
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const splits, c.output(0, {x.elements() + 1}));
  T* split = splits->data<T>();
  *split++ = 0;
  const std::size_t each = sizeof(std::int32_t) + sizeof(std::int64_t);  // bytes of a character
  Poll poll(64);
  MadeStrings made;
  for (const std::string& text : x.values<std::string>()) {
    poll();
    ARGOSY_RETURN_IF_ERROR(made.room(static_cast<std::int64_t>(each * text.size())));
    const std::size_t before = characters.size();
    bool failed = false;
    decoder->each(text, [&](UChar32 ch, std::int64_t start, bool bad) {
      if (bad || (on.controls && ch <= 0x1F)) {
        failed = failed || (bad && on.strict);
        if (on.ignore) return;
        ch = on.replacement;
      }
      characters.push_back(ch);
      starts.push_back(start);
    });
    if (failed) return malformed();
    ARGOSY_RETURN_IF_ERROR(made.add(static_cast<std::int64_t>(each * (characters.size() - before))));
    *split++ = static_cast<T>(characters.size());
  }
  const auto count = static_cast<std::int64_t>(characters.size());
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const values, c.output(1, {count}));
  std::copy(characters.begin(), characters.end(), values->data<std::int32_t>());
  if (c.num_outputs() < 3) return ok_status();
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const offsets, c.output(2, {count}));
  std::copy(starts.begin(), starts.end(), offsets->data<std::int64_t>());
  return ok_status();
}

Status decode(KernelContext& c, const AttrMap& attrs) {
  return dispatch<IndexTypes>(c.output_dtype(0), "UnicodeDecode",
                              [&]<typename T>() { return decode_rows<T>(c, attrs); });
}

enum class Encoding { kUtf8, kUtf16, kUtf32 };
Encoding output_encoding(const AttrMap& attrs) {
  const std::string& name = attrs.get_string("output_encoding");
  return name == "UTF-8" ? Encoding::kUtf8 : name == "UTF-16-BE" ? Encoding::kUtf16 : Encoding::kUtf32;
}

std::string encoded(const icu::UnicodeString& text, Encoding encoding) {
  std::string bytes;
  if (encoding != Encoding::kUtf8) {
    bytes.reserve(static_cast<std::size_t>(text.length()) * (encoding == Encoding::kUtf16 ? 2 : 4));
  }
  const auto put = [&](std::uint32_t value, int size) {
    for (int shift = 8 * (size - 1); shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift);
  };
  switch (encoding) {
    case Encoding::kUtf8: text.toUTF8String(bytes); break;
    case Encoding::kUtf16:
      for (int32_t i = 0; i < text.length(); ++i) put(text.charAt(i), 2);
      break;
    case Encoding::kUtf32:
      for (int32_t i = 0; i < text.length(); i = text.moveIndex32(i, 1)) {
        put(static_cast<std::uint32_t>(text.char32At(i)), 4);
      }
      break;
  }
  return bytes;
}

Status encode(KernelContext& c, const AttrMap& attrs) {
  ARGOSY_ASSIGN_OR_RETURN(const OnError on, OnError::read(attrs));
  const Tensor& values = c.input(0);
  if (values.shape().rank() != 1 || c.input(1).shape().rank() != 1) {
    return invalid_argument("UnicodeEncode: input_values and input_splits must be vectors, not of shapes ",
                            values.shape(), " and ", c.input(1).shape());
  }
  ARGOSY_ASSIGN_OR_RETURN(const Ints splits, read_ints(c.input(1), "UnicodeEncode: input_splits"));
  if (splits.empty()) return invalid_argument("Input_splits should contain elements, but has none");
  if (splits[0] != 0) return invalid_argument("First value in input_splits must be zero.");
  if (splits.back() != values.elements()) {
    return invalid_argument("Last value in input_splits must be equal to length of input_tensor.");
  }
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, {splits.size() - 1}));
  Poll poll(16);
  MadeStrings made;
  for (int row = 0; row + 1 < splits.size(); ++row) {
    poll();
    if (splits[row] > splits[row + 1] || splits[row + 1] > values.elements()) {
      return invalid_argument("Values in input_splits must be equal or in ascending order.");
    }
    ARGOSY_RETURN_IF_ERROR(made.room(2 * 4 * (splits[row + 1] - splits[row])));
    icu::UnicodeString text;
    for (std::int64_t i = splits[row]; i < splits[row + 1]; ++i) {
      UChar32 ch = values.data<std::int32_t>()[i];
      const bool bad = ch < 0 || ch > UCHAR_MAX_VALUE || U_IS_SURROGATE(ch);
      if (bad && on.strict) {
        return invalid_argument("Code point is out of range for Unicode, or is a surrogate: ", ch);
      }
      if (bad && on.ignore) continue;
      text.append(bad ? on.replacement : ch);
    }
    std::string& to = y->data<std::string>()[row];
    to = encoded(text, output_encoding(attrs));
    ARGOSY_RETURN_IF_ERROR(made.add(static_cast<std::int64_t>(to.capacity())));
  }
  return ok_status();
}

Status transcode(KernelContext& c, const AttrMap& attrs) {
  ARGOSY_ASSIGN_OR_RETURN(const OnError on, OnError::read(attrs));
  ARGOSY_ASSIGN_OR_RETURN(const auto decoder, UnicodeDecoder::make(attrs.get_string("input_encoding")));
  const Encoding encoding = output_encoding(attrs);
  return each_string<std::string>(
      c,
      [&](const std::string& bytes, std::string& to) {
        icu::UnicodeString text;
        bool failed = false;
        decoder->each(bytes, [&](UChar32 ch, std::int64_t, bool bad) {
          if (bad || (on.controls && ch <= 0x1F)) {
            failed = failed || on.strict;
            if (on.ignore) return;
            ch = on.replacement;
          }
          text.append(ch);
        });
        if (failed) return malformed();
        to = encoded(text, encoding);
        return ok_status();
      },
      kUnicodeGrowth);
}

Status script(KernelContext& c) {
  const Tensor& x = c.input(0);
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, x.shape(), {0}));
  for (std::int64_t i = 0; i < x.elements(); ++i) {
    UErrorCode error = U_ZERO_ERROR;
    const UScriptCode code = uscript_getScript(x.data<std::int32_t>()[i], &error);
    y->data<std::int32_t>()[i] = U_SUCCESS(error) != 0 ? code : USCRIPT_INVALID_CODE;
  }
  return ok_status();
}

}  // namespace

void add_kernels_cpu_unicode(KernelRegistry& kernels) {
  kernels.add("UnicodeDecode", "cpu", AttrKernel<decode>::make);
  kernels.add("UnicodeDecodeWithOffsets", "cpu", AttrKernel<decode>::make);
  kernels.add("UnicodeEncode", "cpu", AttrKernel<encode>::make);
  kernels.add("UnicodeTranscode", "cpu", AttrKernel<transcode>::make);
  kernels.add("UnicodeScript", "cpu", script);
}

}  // namespace argosy
