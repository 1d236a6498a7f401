#include "argosy/data/files/wav.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "argosy/base/threads/interrupt.h"

namespace argosy::data {

namespace {

constexpr std::uint32_t kSampleBytes = 2, kHeaderBytes = 44, kFormatBytes = 16, kPcm = 1;
constexpr float kScale = 32768.0f;

// Reads little-endian numbers and chunks. An error says where the file ends too early.
class WavReader {
 public:
  explicit WavReader(std::string_view bytes) : bytes_(bytes) {}

  bool at_end() const { return at_ >= bytes_.size(); }
  Result<std::string_view> text(std::size_t n) {
    if (at_ > bytes_.size() || n > bytes_.size() - at_)
      return invalid_argument("Data too short when trying to read string");
    at_ += n;
    return bytes_.substr(at_ - n, n);
  }
  Result<std::uint32_t> number(std::size_t n) {
    if (at_ > bytes_.size() || n > bytes_.size() - at_)
      return invalid_argument("Data too short when trying to read value");
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < n; ++i)
      value |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes_[at_ + i])) << (8 * i);
    at_ += n;
    return value;
  }
  Status expect(std::string_view wanted) {
    ARGOSY_ASSIGN_OR_RETURN(const std::string_view found, text(wanted.size()));
    if (found == wanted) return ok_status();
    return invalid_argument("Header mismatch: Expected ", wanted, " but found ", found);
  }
  // The position may be past the end afterwards.
  void skip(std::size_t n) { at_ += n; }

 private:
  const std::string_view bytes_;
  std::size_t at_ = 0;
};

// True for chunks that editors write before the format chunk.
bool may_stand_before_format(std::string_view chunk) {
  constexpr std::array<std::string_view, 8> kKnown = {"JUNK", "bext", "iXML", "qlty", "mext", "levl", "link", "axml"};
  return std::find(kKnown.begin(), kKnown.end(), chunk) != kKnown.end();
}

Status find_format(WavReader& reader) {
  for (;;) {
    ARGOSY_ASSIGN_OR_RETURN(const std::string_view chunk, reader.text(4));
    if (chunk == "fmt ") return ok_status();
    if (!may_stand_before_format(chunk)) return invalid_argument("Unexpected field ", chunk);
    ARGOSY_ASSIGN_OR_RETURN(const std::uint32_t size, reader.number(4));
    ARGOSY_RETURN_IF_ERROR(reader.text(size).status());
  }
}

Status read_format(WavReader& reader, WavFile& file) {
  ARGOSY_ASSIGN_OR_RETURN(const std::uint32_t size, reader.number(4));
  if (size != kFormatBytes && size != kFormatBytes + 2)
    return invalid_argument("Bad format chunk size for WAV: Expected 16 or 18, but got", size);
  ARGOSY_ASSIGN_OR_RETURN(const std::uint32_t kind, reader.number(2));
  if (kind != kPcm) return invalid_argument("Bad audio format for WAV: Expected 1 (PCM), but got", kind);
  ARGOSY_ASSIGN_OR_RETURN(const std::uint32_t channels, reader.number(2));
  if (channels < 1) return invalid_argument("Bad number of channels for WAV: Expected at least 1, but got ", channels);
  file.channels = channels;
  ARGOSY_ASSIGN_OR_RETURN(file.sample_rate, reader.number(4));
  ARGOSY_ASSIGN_OR_RETURN(const std::uint32_t bytes_a_second, reader.number(4));
  ARGOSY_ASSIGN_OR_RETURN(const std::uint32_t frame_bytes, reader.number(2));
  ARGOSY_ASSIGN_OR_RETURN(const std::uint32_t bits, reader.number(2));
  if (bits != 8 * kSampleBytes) return invalid_argument("Can only read 16-bit WAV files, but received ", bits);
  if (const std::uint32_t expected = kSampleBytes * channels; frame_bytes != expected) {
    return invalid_argument("Bad bytes per sample in WAV header: Expected ", expected, " but got ", frame_bytes);
  }
  if (const std::uint32_t expected = frame_bytes * file.sample_rate; bytes_a_second != expected) {
    return invalid_argument("Bad bytes per second in WAV header: Expected ", expected, " but got ", bytes_a_second,
                            " (sample_rate=", file.sample_rate, ", bytes_per_sample=", frame_bytes, ")");
  }
  return size == kFormatBytes ? ok_status() : reader.text(2).status();
}

Status read_samples(WavReader& reader, WavFile& file) {
  bool found = false;
  while (!reader.at_end()) {
    ARGOSY_ASSIGN_OR_RETURN(const std::string_view chunk, reader.text(4));
    ARGOSY_ASSIGN_OR_RETURN(const std::uint32_t size, reader.number(4));
    if (size > static_cast<std::uint32_t>(std::numeric_limits<std::int32_t>::max())) {
      return invalid_argument("WAV data chunk '", chunk, "' is too large: ", size, " bytes, but the limit is ",
                              std::numeric_limits<std::int32_t>::max());
    }
    if (chunk != "data") {
      reader.skip(size);
      continue;
    }
    if (found) return invalid_argument("More than one data chunk found in WAV");
    found = true;
    file.frames = size / (kSampleBytes * file.channels);
    ARGOSY_ASSIGN_OR_RETURN(file.samples,
                            reader.text(static_cast<std::size_t>(file.frames * file.channels * kSampleBytes)));
  }
  return found ? ok_status() : invalid_argument("No data chunk found in WAV");
}

void put_number(std::string& to, std::uint32_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) to += static_cast<char>(value >> (8 * i));
}

}  // namespace

float WavFile::sample(std::int64_t frame, std::int64_t channel) const {
  const auto at = static_cast<std::size_t>((frame * channels + channel) * kSampleBytes);
  const auto low = static_cast<unsigned char>(samples[at]), high = static_cast<unsigned char>(samples[at + 1]);
  return static_cast<float>(static_cast<std::int16_t>(low | high << 8)) / kScale;
}

Result<WavFile> read_wav(std::string_view bytes) {
  WavFile file;
  WavReader reader(bytes);
  ARGOSY_RETURN_IF_ERROR(reader.expect("RIFF"));
  ARGOSY_RETURN_IF_ERROR(reader.number(4).status());  // the file's size: what is there counts
  ARGOSY_RETURN_IF_ERROR(reader.expect("WAVE"));
  ARGOSY_RETURN_IF_ERROR(find_format(reader));
  ARGOSY_RETURN_IF_ERROR(read_format(reader, file));
  ARGOSY_RETURN_IF_ERROR(read_samples(reader, file));
  return file;
}

Result<std::int64_t> wav_bytes(std::int64_t frames, std::int64_t channels, std::int64_t sample_rate) {
  constexpr std::int64_t kMost = std::numeric_limits<std::uint32_t>::max();
  if (sample_rate <= 0 || sample_rate > kMost)
    return invalid_argument("sample_rate must be in (0, 2^32), got: ", sample_rate);
  if (channels <= 0 || channels > 0xffff) return invalid_argument("num_channels must be in (0, 2^16), got: ", channels);
  if (frames > (kMost - kHeaderBytes) / (kSampleBytes * channels))
    return invalid_argument("Provided channels and frames cannot be encoded as a WAV.");
  return kHeaderBytes + frames * channels * kSampleBytes;
}

std::string encode_wav(const float* samples, std::int64_t frames, std::int64_t channels, std::uint32_t sample_rate) {
  const auto frame_bytes = static_cast<std::uint32_t>(channels) * kSampleBytes;
  const auto data_bytes = static_cast<std::uint32_t>(frames) * frame_bytes;
  std::string to;
  to.reserve(kHeaderBytes + std::size_t{data_bytes});
  to = "RIFF";
  put_number(to, kHeaderBytes - 8 + data_bytes, 4);
  to += "WAVEfmt ";
  put_number(to, kFormatBytes, 4);
  put_number(to, kPcm, 2);
  put_number(to, static_cast<std::uint32_t>(channels), 2);
  put_number(to, sample_rate, 4);
  put_number(to, sample_rate * frame_bytes, 4);
  put_number(to, frame_bytes, 2);
  put_number(to, 8 * kSampleBytes, 2);
  to += "data";
  put_number(to, data_bytes, 4);
  Poll poll(4096);
  for (std::int64_t i = 0; i < frames * channels; ++i) {
    poll();
    const float scaled = std::round(samples[i] * kScale);
    const float clipped = std::isnan(scaled) ? 0.0f : std::clamp(scaled, -kScale, kScale - 1);
    put_number(to, static_cast<std::uint16_t>(static_cast<std::int16_t>(clipped)), 2);
  }
  return to;
}

}  // namespace argosy::data
