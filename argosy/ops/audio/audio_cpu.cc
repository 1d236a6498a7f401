// Kernels: WAV files to samples and back.
#include "argosy/base/threads/interrupt.h"
#include "argosy/data/files/wav.h"
#include "argosy/ops/attr_kernel.h"
#include "argosy/ops/string/made_strings.h"

namespace argosy {

void add_spectrogram(KernelRegistry& kernels);  // spectrogram_cpu.cc
void add_mfcc(KernelRegistry& kernels);         // mfcc_cpu.cc

namespace {

Status decode(KernelContext& c, const AttrMap& attrs) {
  const Tensor& contents = c.input(0);
  if (contents.shape().rank() != 0) return invalid_argument("contents must be scalar, got shape ", contents.shape());
  ARGOSY_ASSIGN_OR_RETURN(const data::WavFile file, data::read_wav(*contents.data<std::string>()));
  const std::int64_t wanted[] = {attrs.get_int("desired_samples"), attrs.get_int("desired_channels")};
  const std::int64_t sizes[] = {wanted[0] == -1 ? file.frames : wanted[0], wanted[1] == -1 ? file.channels : wanted[1]};
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, Shape::make(sizes));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const audio, c.output(0, shape));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const rate, c.output(1, {}));
  // Past the end of the sound come zeros. Surplus channels repeat the last one.
  float* to = audio->data<float>();
  Poll poll(4096);
  for (std::int64_t i = 0; i < sizes[0]; ++i) {
    poll();
    for (std::int64_t k = 0; k < sizes[1]; ++k)
      *to++ = i < file.frames ? file.sample(i, std::min(k, file.channels - 1)) : 0.0f;
  }
  *rate->data<std::int32_t>() = static_cast<std::int32_t>(file.sample_rate);
  return ok_status();
}

Status encode(KernelContext& c) {
  const Tensor &audio = c.input(0), &rate = c.input(1);
  if (audio.shape().rank() != 2) return invalid_argument("audio must be 2-dimensional, not of shape ", audio.shape());
  if (rate.shape().rank() != 0)
    return invalid_argument("Input sample_rate should be a scalar tensor, got ", rate.shape(), " instead.");
  const std::int64_t frames = audio.shape()[0], channels = audio.shape()[1], hertz = *rate.data<std::int32_t>();
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t bytes, data::wav_bytes(frames, channels, hertz));
  MadeStrings made;
  ARGOSY_RETURN_IF_ERROR(made.room(bytes));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, {}));
  *y->data<std::string>() = data::encode_wav(audio.data<float>(), frames, channels, static_cast<std::uint32_t>(hertz));
  return ok_status();
}

}  // namespace

void add_kernels_cpu_audio(KernelRegistry& kernels) {
  kernels.add("DecodeWav", "cpu", AttrKernel<decode>::make);
  kernels.add("EncodeWav", "cpu", encode);
  add_spectrogram(kernels);
  add_mfcc(kernels);
}

}  // namespace argosy
