#include "argosy/ops/audio/audio.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "argosy/base/memory/host_budget.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/evaluate.h"
#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

void put(std::string& to, std::uint32_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) to += static_cast<char>(value >> (8 * i));
}

// The parts of a file that may be wrong.
struct WavParts {
  std::string riff = "RIFF", wave = "WAVE", before_format = {}, after_format = {}, behind = {};
  std::uint32_t format_bytes = 16, format = 1, channels = 2, rate = 8000, bits = 16;
  std::uint32_t frame_bytes = 4, second_bytes = 32000;
  std::vector<std::int16_t> samples = {0, 16384, -32768, 32767, 1, -1};
  std::uint32_t data_bytes = 12;
  bool has_data = true;

  std::string file() const {
    std::string to = riff;
    put(to, 36 + data_bytes, 4);
    to += wave + before_format + "fmt ";
    put(to, format_bytes, 4);
    put(to, format, 2);
    put(to, channels, 2);
    put(to, rate, 4);
    put(to, second_bytes, 4);
    put(to, frame_bytes, 2);
    put(to, bits, 2);
    to += after_format;
    if (!has_data) return to + behind;
    to += "data";
    put(to, data_bytes, 4);
    for (const std::int16_t s : samples) put(to, static_cast<std::uint16_t>(s), 2);
    return to + behind;
  }
};

std::string chunk(const std::string& name, const std::string& bytes) {
  std::string to = name;
  put(to, static_cast<std::uint32_t>(bytes.size()), 4);
  return to + bytes;
}

const std::vector<float> kSamples = {0, 0.5, -1, 32767.0f / 32768, 1.0f / 32768, -1.0f / 32768};
const Tensor kRate = Tensor::scalar(std::int32_t{8000});

void decodes(const WavParts& parts, const Tensor& audio, const AttrMap& attrs = {}) {
  check({.op = "DecodeWav", .inputs = {Tensor::scalar(parts.file())}, .attrs = attrs, .expect = {audio, kRate}});
}

TEST(Audio, DecodeWav) {
  const Tensor all = Tensor::of<float>({3, 2}, kSamples);
  decodes({}, all);
  decodes({.before_format = chunk("JUNK", "abcd") + chunk("bext", "")}, all);
  decodes({.after_format = std::string(2, '\0'), .format_bytes = 18}, all);
  decodes({.after_format = chunk("LIST", "some words!"), .behind = chunk("id3 ", "xyz")}, all);
  decodes({.behind = std::string("what\xe8\x03\0\0", 8)}, all);  // it says more than there is
  decodes({.channels = 1, .frame_bytes = 2, .second_bytes = 16000}, Tensor::of<float>({6, 1}, kSamples));
  // As many as are wanted: silence behind the end, the last channel again.
  decodes({}, Tensor::of<float>({2, 1}, {0, -1}), {{"desired_samples", 2}, {"desired_channels", 1}});
  decodes({},
          Tensor::of<float>(
              {4, 3}, {0, 0.5, 0.5, -1, kSamples[3], kSamples[3], kSamples[4], kSamples[5], kSamples[5], 0, 0, 0}),
          {{"desired_samples", 4}, {"desired_channels", 3}});
}

TEST(Audio, DecodeWavRefusesDamagedFiles) {
  const auto refuses = [](const std::string& file, const char* says) {
    check(
        {.op = "DecodeWav", .inputs = {Tensor::scalar(file)}, .error = Code::kInvalidArgument, .error_contains = says});
  };
  refuses("", "Data too short");
  refuses(WavParts{.riff = "RIFX"}.file(), "Header mismatch: Expected RIFF but found RIFX");
  refuses(WavParts{.wave = "WAVX"}.file(), "Header mismatch: Expected WAVE but found WAVX");
  refuses(WavParts{.before_format = chunk("what", "")}.file(), "Unexpected field what");
  refuses(WavParts{.format_bytes = 17}.file(), "Bad format chunk size for WAV");
  refuses(WavParts{.format = 3}.file(), "Bad audio format for WAV");
  refuses(WavParts{.channels = 0}.file(), "Bad number of channels for WAV");
  refuses(WavParts{.bits = 8}.file(), "Can only read 16-bit WAV files, but received 8");
  refuses(WavParts{.frame_bytes = 2}.file(), "Bad bytes per sample in WAV header: Expected 4 but got 2");
  refuses(WavParts{.second_bytes = 1}.file(), "Bad bytes per second in WAV header: Expected 32000 but got 1");
  refuses(WavParts{.has_data = false}.file(), "No data chunk found in WAV");
  refuses(WavParts{.data_bytes = 16}.file(), "Data too short");
  refuses(WavParts{.data_bytes = 10}.file(), "Data too short");  // no whole frames: the rest is read as a chunk
  refuses(WavParts{.data_bytes = 0xfffffff0}.file(), "is too large");
  refuses(WavParts{.behind = chunk("data", "")}.file(), "More than one data chunk found in WAV");
  refuses(WavParts{.behind = "x"}.file(), "Data too short");
  check({.op = "DecodeWav",
         .inputs = {Tensor::scalar(WavParts{}.file())},
         .attrs = {{"desired_samples", -2}},
         .error = Code::kInvalidArgument,
         .error_contains = "desired_samples must be >= -1, got -2"});
  const std::string whole = WavParts{}.file();
  for (std::size_t n = 0; n < whole.size(); n += 3) refuses(whole.substr(0, n), "");
  check({.op = "DecodeWav", .inputs = {Tensor::vector<std::string>({whole})}, .error = Code::kInvalidArgument});
}

TEST(Audio, EncodeWav) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto gives = [](const Tensor& audio, const WavParts& parts) {
    check(
        {.op = "EncodeWav", .inputs = {audio, kRate}, .expect = {Tensor::scalar(parts.file())}, .other_dtypes = false});
  };
  gives(Tensor::of<float>({3, 2}, kSamples), {});
  gives(Tensor::of<float>({2, 2}, {2, -2, nan, 0.5f / 32768}), {.samples = {32767, -32768, 0, 1}, .data_bytes = 8});
  gives(Tensor::zeros(DType::kFloat32, {0, 2}), {.samples = {}, .data_bytes = 0});
  const auto refuses = [](const Tensor& audio, const Tensor& rate, const char* says) {
    check({.op = "EncodeWav", .inputs = {audio, rate}, .error = Code::kInvalidArgument, .error_contains = says});
  };
  const Tensor audio = Tensor::zeros(DType::kFloat32, {2, 1});
  refuses(Tensor::zeros(DType::kFloat32, {2}), kRate, "");
  refuses(audio, Tensor::vector<std::int32_t>({8000}), "");
  refuses(audio, Tensor::scalar(std::int32_t{0}), "sample_rate must be in (0, 2^32)");
  refuses(audio, Tensor::scalar(std::int32_t{-1}), "sample_rate must be in (0, 2^32)");
  refuses(Tensor::zeros(DType::kFloat32, {2, 0}), kRate, "num_channels must be in (0, 2^16)");
  refuses(Tensor::zeros(DType::kFloat32, {1, 70000}), kRate, "num_channels must be in (0, 2^16)");
}

TEST(Audio, EncodedFilesAreCountedBeforeTheyAreMade) {
  Graph g;
  const Value audio = placeholder(g, DType::kFloat32, {-1, 1});
  const Value file = encode_wav(audio, constant(g, kRate));
  const Tensor samples = Tensor::zeros(DType::kFloat32, {8 << 20, 1});
  const auto limit = host_budget().with_limit(host_budget().in_use() + (8 << 20));
  const auto out = evaluate(g, {{audio.endpoint(), samples}}, {file.endpoint()});
  EXPECT_EQ(out.status().id(), "ARG-MEM-004") << out.status().to_string();
}

TEST(Audio, Spectrogram) {
  const auto gives = [](const Tensor& x, int window, int stride, bool squared, const Tensor& y) {
    check({.op = "AudioSpectrogram",
           .inputs = {x},
           .attrs = {{"window_size", window}, {"stride", stride}, {"magnitude_squared", squared}},
           .expect = {y},
           .other_dtypes = false});
  };
  const Tensor ramp = Tensor::of<float>({6, 1}, {1, 2, 3, 4, 5, 6});
  gives(ramp, 4, 2, true, Tensor::of<float>({1, 2, 3}, {36, 10, 0, 100, 26, 0}));
  gives(ramp, 4, 2, false, Tensor::of<float>({1, 2, 3}, {6, 3.16227766f, 0, 10, 5.09901951f, 0}));
  gives(ramp, 4, 5, true, Tensor::of<float>({1, 1, 3}, {36, 10, 0}));
  gives(ramp, 7, 1, true, Tensor::zeros(DType::kFloat32, {1, 0, 5}));
  gives(Tensor::of<float>({4, 2}, {1, 3, 2, 4, 3, 5, 4, 6}), 4, 1, true,
        Tensor::of<float>({2, 1, 3}, {36, 10, 0, 100, 26, 0}));
  for (const int window : {2, 3, 5, 16, 100}) {
    check({.op = "AudioSpectrogram",
           .inputs = {random_tensor(DType::kFloat32, {250, 2})},
           .attrs = {{"window_size", window}, {"stride", 7}},
           .other_dtypes = false});
  }
  const auto refuses = [](const Tensor& x, int window, int stride) {
    check({.op = "AudioSpectrogram",
           .inputs = {x},
           .attrs = {{"window_size", window}, {"stride", stride}},
           .error = Code::kInvalidArgument});
  };
  refuses(ramp, 1, 1);
  refuses(ramp, 4, 0);
  refuses(Tensor::vector<float>({1, 2, 3, 4}), 2, 1);
}

TEST(Audio, Mfcc) {
  const Tensor squares = Tensor::of<float>({1, 2, 6}, {1, 4, 9, 16, 25, 36, 1, 0, 9, 0, 25, 36});
  const auto attrs = [](float low, float high, int bands, int coefficients) {
    return AttrMap{{"lower_frequency_limit", low},
                   {"upper_frequency_limit", high},
                   {"filterbank_channel_count", bands},
                   {"dct_coefficient_count", coefficients}};
  };
  check({.op = "Mfcc",
         .inputs = {squares, kRate},
         .attrs = attrs(20, 3900, 4, 3),
         .expect = {Tensor::of<float>(
             {1, 2, 3}, {0.29147398f, -3.37715612f, -1.51727599f, -37.7180018f, -26.4159304f, 0.00243757256f})},
         .other_dtypes = false});
  check({.op = "Mfcc", .inputs = {random_tensor(DType::kFloat32, {2, 3, 129}, 1, 0, 4), kRate}, .other_dtypes = false});
  // Bands beyond what there is: zeros.
  check({.op = "Mfcc",
         .inputs = {squares, kRate},
         .attrs = attrs(20, 5000, 4, 3),
         .expect = {Tensor::zeros(DType::kFloat32, {1, 2, 3})},
         .other_dtypes = false});
  check({.op = "Mfcc", .inputs = {Tensor::zeros(DType::kFloat32, {0, 2, 6}), kRate}, .other_dtypes = false});
  const auto refuses = [&](const Tensor& x, const Tensor& rate, const AttrMap& with) {
    check({.op = "Mfcc", .inputs = {x, rate}, .attrs = with, .error = Code::kInvalidArgument});
  };
  refuses(squares, kRate, attrs(20, 20, 4, 3));
  refuses(squares, kRate, attrs(-1, 3000, 4, 3));
  refuses(squares, kRate, attrs(20, 3000, 4, 5));
  refuses(squares, kRate, attrs(20, 3000, 4, 0));
  refuses(squares, Tensor::scalar(std::int32_t{0}), attrs(20, 3000, 4, 3));
  refuses(squares, Tensor::vector<std::int32_t>({8000}), attrs(20, 3000, 4, 3));
  refuses(Tensor::zeros(DType::kFloat32, {1, 2, 1}), kRate, attrs(20, 3000, 4, 3));
  refuses(Tensor::zeros(DType::kFloat32, {2, 6}), kRate, attrs(20, 3000, 4, 3));
}

TEST(Audio, ThereAndBack) {
  Graph g;
  const Tensor x = Tensor::of<float>({3, 2}, kSamples);
  const Sound sound = decode_wav(encode_wav(constant(g, x), constant(g, kRate)));
  ASSERT_TRUE(g.status().ok()) << g.status().to_string();
  const auto out = evaluate(g, {}, {sound.audio.endpoint(), sound.sample_rate.endpoint()});
  ASSERT_TRUE(out.ok()) << out.status().to_string();
  EXPECT_EQ(difference((*out)[0], x, 0), "");
  EXPECT_EQ(difference((*out)[1], kRate, 0), "");
}

}  // namespace
}  // namespace argosy
