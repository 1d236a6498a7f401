#include "argosy/data/files/codec.h"

#include <gtest/gtest.h>

#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

Tensor pixels(const Shape& shape, DType dtype = DType::kUint8) {
  return random_tensor(dtype, shape, 5, 0, dtype == DType::kUint8 ? 255.9 : 65535.9);
}
std::string jpeg(const Tensor& image, const data::JpegEncoding& options = {}) {
  const auto bytes = data::encode_jpeg(image, options);
  EXPECT_TRUE(bytes.ok()) << bytes.status().to_string();
  return bytes.value_or("");
}
std::string png(const Tensor& image) {
  const Shape& s = image.shape();
  const auto bytes = data::encode_png(image.raw(), image.dtype(), s[0], s[1], static_cast<int>(s[2]), -1);
  EXPECT_TRUE(bytes.ok()) << bytes.status().to_string();
  return bytes.value_or("");
}
void runs(const char* op, const std::string& bytes, const AttrMap& attrs = {}, const std::vector<Tensor>& expect = {}) {
  check({.op = op, .inputs = {Tensor::scalar(bytes)}, .attrs = attrs, .expect = expect, .other_dtypes = false});
}
void fails(const char* op, const std::string& bytes, const AttrMap& attrs = {}, std::string unlike = "") {
  check({.op = op,
         .inputs = {Tensor::scalar(bytes)},
         .attrs = attrs,
         .error = Code::kInvalidArgument,
         .unlike_tensorflow = std::move(unlike)});
}

// Two colours, two frames; the second draws one pixel.
constexpr char kGifBytes[] =
    "GIF89a\x02\0\x01\0\x80\x01\0\xff\0\0\0\0\xff,\0\0\0\0\x02\0\x01\0\0\x02\x02\x84\x51\0,"
    "\x01\0\0\0\x01\0\x01\0\0\x02\x02\x44\x01\0;";
const std::string kGif(kGifBytes, sizeof kGifBytes - 1);

std::string bmp(std::int32_t width, std::int32_t height, std::int16_t bits, const std::string& data) {
  const auto put = [](auto v) { return std::string(reinterpret_cast<const char*>(&v), sizeof v); };
  return "BM" + put(std::int32_t(54 + data.size())) + put(std::int32_t{0}) + put(std::int32_t{54}) +
         put(std::int32_t{40}) + put(width) + put(height) + put(std::int16_t{1}) + put(bits) + std::string(24, '\0') +
         data;
}

TEST(CodecOps, DecodeJpeg) {
  const std::string colour = jpeg(pixels({20, 17, 3})), grey = jpeg(pixels({9, 8, 1}));
  for (const std::string& bytes : {colour, grey}) {
    for (const std::int64_t channels : {0, 1, 3}) {
      for (const char* dct : {"", "INTEGER_FAST", "INTEGER_ACCURATE"}) {
        for (const bool fancy : {true, false}) {
          runs("DecodeJpeg", bytes, {{"channels", channels}, {"dct_method", dct}, {"fancy_upscaling", fancy}});
        }
      }
    }
    for (const std::int64_t ratio : {2, 4, 8}) runs("DecodeJpeg", bytes, {{"ratio", ratio}});
    for (const DType d : {DType::kUint8, DType::kUint16, DType::kFloat32}) runs("DecodeImage", bytes, {{"dtype", d}});
    runs("DecodePng", bytes);
    for (const DType d : {DType::kInt32, DType::kInt64}) runs("ExtractJpegShape", bytes, {{"output_type", d}});
  }
  runs("ExtractJpegShape", colour, {}, {Tensor::vector<std::int32_t>({20, 17, 3})});
  runs("DecodeJpeg", jpeg(pixels({20, 17, 3}), {.quality = 60, .progressive = true, .chroma_downsampling = false}));
  for (const AttrMap& bad :
       {AttrMap{{"channels", 4}}, AttrMap{{"channels", 2}}, AttrMap{{"ratio", 3}}, AttrMap{{"dct_method", "X"}}}) {
    fails("DecodeJpeg", colour, bad);
  }
  fails("DecodeJpeg", "junk");
  fails("DecodeJpeg", "");
  fails("DecodeJpeg", colour.substr(0, 100));
  fails("DecodeJpeg", colour.substr(0, colour.size() - 60));
  fails("DecodeBmp", colour);
  runs("DecodeGif", colour);
  fails("ExtractJpegShape", "junk");
  check({.op = "DecodeJpeg", .inputs = {Tensor::vector<std::string>({colour})}, .error = Code::kInvalidArgument});
  const auto crop = [&](std::initializer_list<std::int32_t> window, Code code) {
    check({.op = "DecodeAndCropJpeg", .inputs = {Tensor::scalar(colour), Tensor::vector(window)}, .error = code});
  };
  crop({3, 5, 4, 6}, Code::kOk);
  crop({0, 0, 20, 17}, Code::kOk);
  for (const auto& window :
       {std::initializer_list<std::int32_t>{3, 5, 40, 6}, {-3, 5, 4, 6}, {3, 5, 0, 6}, {1, 2, 3}}) {
    crop(window, Code::kInvalidArgument);
  }
}

TEST(CodecOps, DecodePng) {
  for (const std::int64_t channels : {1, 2, 3, 4}) {
    for (const DType from : {DType::kUint8, DType::kUint16}) {
      const Tensor image = pixels({5, 6, channels}, from);
      const std::string bytes = png(image);
      runs("DecodePng", bytes, {{"dtype", from}}, {image});
      for (const DType to : {DType::kUint8, DType::kUint16}) {
        for (const std::int64_t wanted : {0, 1, 3, 4}) runs("DecodePng", bytes, {{"channels", wanted}, {"dtype", to}});
      }
      runs("DecodeImage", bytes, {{"dtype", DType::kFloat32}});
      runs("DecodeJpeg", bytes);
    }
  }
  const std::string bytes = png(pixels({5, 6, 3}));
  fails("DecodePng", bytes, {{"channels", 2}});
  fails("DecodePng", bytes.substr(0, 60));
  fails("DecodeBmp", bytes);
  check({.op = "DecodeAndCropJpeg",
         .inputs = {Tensor::scalar(bytes), Tensor::vector<std::int32_t>({0, 0, 1, 1})},
         .error = Code::kInvalidArgument});
}

TEST(CodecOps, DecodeGifAndBmp) {
  using Bytes = std::initializer_list<std::uint8_t>;
  const auto u8 = [](const Shape& shape, Bytes v) { return Tensor::of<std::uint8_t>(shape, v); };
  runs("DecodeGif", kGif);
  runs("DecodeImage", kGif);
  runs("DecodeImage", kGif, {{"expand_animations", false}});
  fails("DecodeJpeg", kGif);
  fails("DecodeImage", kGif, {{"channels", 1}});
  fails("DecodeGif", kGif.substr(0, 30));
  fails("DecodeGif", "GIF89a");
  const std::string two("\1\2\3\0\4\5\6\0", 8);
  runs("DecodeBmp", bmp(1, 2, 24, two), {}, {u8({2, 1, 3}, {6, 5, 4, 3, 2, 1})});
  runs("DecodeBmp", bmp(1, -2, 24, two), {}, {u8({2, 1, 3}, {3, 2, 1, 6, 5, 4})});
  runs("DecodeBmp", bmp(2, 1, 8, std::string("\1\2\0\0", 4)), {}, {u8({1, 2, 1}, {1, 2})});
  runs("DecodeBmp", bmp(1, 1, 32, "\1\2\3\4"), {}, {u8({1, 1, 4}, {3, 2, 1, 4})});
  runs("DecodeBmp", bmp(1, 1, 32, "\1\2\3\4"), {{"channels", 3}}, {u8({1, 1, 3}, {3, 2, 1})});
  runs("DecodeImage", bmp(1, 2, 24, two), {{"dtype", DType::kUint16}});
  fails("DecodeBmp", bmp(2, 2, 8, std::string("\1\2\0\0", 4)));
  fails("DecodeBmp", bmp(1, 1, 32, "\1\2\3\4"), {{"channels", 1}});
  fails("DecodeBmp", bmp(1, 1, 16, "\1\2\3\4"));
  fails("DecodeJpeg", bmp(1, 1, 32, "\1\2\3\4"));
}

TEST(CodecOps, Encode) {
  const auto encoded = [](const char* op, std::vector<Tensor> inputs, const AttrMap& attrs = {}) {
    check({.op = op, .inputs = std::move(inputs), .attrs = attrs, .other_dtypes = false});
  };
  encoded("EncodePng", {pixels({5, 6, 3})});
  encoded("EncodePng", {pixels({2, 5, 6, 4}, DType::kUint16)}, {{"compression", 9}});
  encoded("EncodeJpeg", {pixels({5, 6, 3})}, {{"format", "rgb"}, {"quality", 50}, {"xmp_metadata", "x"}});
  encoded("EncodeJpeg", {pixels({5, 6, 1})}, {{"density_unit", "cm"}, {"progressive", true}, {"optimize_size", true}});
  encoded("EncodeJpegVariableQuality", {pixels({5, 6, 3}), Tensor::scalar(20)});
  const auto refused = [](const char* op, std::vector<Tensor> inputs, const AttrMap& attrs = {},
                          Code code = Code::kInvalidArgument) {
    check({.op = op, .inputs = std::move(inputs), .attrs = attrs, .error = code});
  };
  refused("EncodeJpeg", {pixels({1, 5, 6, 3})});
  refused("EncodeJpeg", {pixels({5, 6, 2})});
  refused("EncodeJpeg", {pixels({5, 6, 3})}, {{"format", "grayscale"}});
  refused("EncodeJpeg", {pixels({5, 6, 3})}, {{"quality", 101}});
  refused("EncodeJpeg", {pixels({0, 6, 3})}, {}, Code::kInternal);
  refused("EncodeJpegVariableQuality", {pixels({5, 6, 3}), Tensor::scalar(-1)});
  refused("EncodePng", {pixels({5, 6, 3})}, {{"compression", 10}});
  refused("EncodePng", {pixels({5, 6, 5})});
  refused("EncodePng", {pixels({5, 3})});
  refused("EncodePng", {pixels({0, 6, 3})}, {}, Code::kInternal);
}

}  // namespace
}  // namespace argosy
