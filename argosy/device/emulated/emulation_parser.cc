#include "argosy/device/emulated/emulation_parser.h"

#include <charconv>

#include "argosy/device/name.h"

namespace argosy {

namespace {

constexpr int kMostGpus = 256;

Status bad_emulation(std::string_view part, std::string_view why) {
  return invalid_argument("emulated GPUs: \"", part, "\": ", why)
      .with_id("ARG-DEV-002")
      .with_hint("--emulate 2, or --emulate 'gpu:4GiB@1.0,gpu:4GiB@0.5;link=12GB/s'");
}

Status bad_fault(std::string_view part, std::string_view why) {
  return invalid_argument("faults: \"", part, "\": ", why)
      .with_id("ARG-DEV-002")
      .with_hint("ARGOSY_FAULTS=gpu:1:alloc=17 (or lost=N, hang=N, flip=N, copy=F), several separated by commas");
}

template <typename T>
bool parse_number(std::string_view text, T* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

// "gpu", "gpu:11GiB", "gpu@0.5", "gpu:11GiB@0.5"
Result<EmulatedGpu> parse_gpu(std::string_view text) {
  EmulatedGpu gpu;
  std::string_view rest = text;
  const std::size_t at = rest.find('@');
  if (at != std::string_view::npos) {
    if (!parse_number(rest.substr(at + 1), &gpu.speed)) return bad_emulation(text, "the speed after @ is no number");
    if (!(gpu.speed > 0 && gpu.speed <= 1)) {
      return bad_emulation(text, "the speed must be above 0 and at most 1, which is the host's own");
    }
    rest = rest.substr(0, at);
  }
  const std::size_t colon = rest.find(':');
  const std::string_view kind = rest.substr(0, colon);
  if (kind != "gpu" && kind != "GPU") return bad_emulation(text, "neither a count nor \"gpu\"");
  if (colon != std::string_view::npos) {
    const std::int64_t bytes = parse_bytes(rest.substr(colon + 1));
    if (bytes <= 0) return bad_emulation(text, "the memory after the colon is no size");
    gpu.memory_bytes = static_cast<std::uint64_t>(bytes);
  }
  return gpu;
}

}  // namespace

Result<Emulation> parse_emulation(std::string_view text) {
  Emulation emulation;
  text = str_trim(text);
  if (text.empty()) return emulation;
  const std::vector<std::string> sections = str_split(text, ';');
  for (const std::string& untrimmed : str_split(sections[0], ',')) {
    const std::string_view item = str_trim(untrimmed);
    int count = 0;
    if (parse_number(item, &count)) {
      if (count < 0 || count > kMostGpus) {
        return bad_emulation(item, str_cat("the count must be from 0 to ", kMostGpus));
      }
      emulation.gpus.resize(emulation.gpus.size() + static_cast<std::size_t>(count));
    } else {
      ARGOSY_ASSIGN_OR_RETURN(EmulatedGpu gpu, parse_gpu(item));
      emulation.gpus.push_back(gpu);
    }
    if (emulation.gpus.size() > kMostGpus) return bad_emulation(text, str_cat("more than ", kMostGpus, " GPUs"));
  }
  for (std::size_t i = 1; i < sections.size(); ++i) {
    const std::string_view option = str_trim(sections[i]);
    const std::size_t equals = option.find('=');
    if (option.substr(0, equals) != "link") return bad_emulation(option, "unknown, the one option is link=SPEED");
    std::string_view speed = equals == std::string_view::npos ? std::string_view() : option.substr(equals + 1);
    if (speed.size() > 2 && speed.substr(speed.size() - 2) == "/s") speed.remove_suffix(2);
    const std::int64_t bytes = parse_bytes(speed);
    if (bytes <= 0) return bad_emulation(option, "the link speed is no size per second, such as 12GB/s");
    emulation.link_bytes_per_second = static_cast<double>(bytes);
  }
  return emulation;
}

Result<std::map<int, DeviceFaults>> parse_faults(std::string_view text) {
  std::map<int, DeviceFaults> faults;
  if (str_trim(text).empty()) return faults;
  for (const std::string& untrimmed : str_split(text, ',')) {
    const std::string_view item = str_trim(untrimmed);
    const std::size_t colon = item.rfind(':');
    const std::size_t equals = item.find('=');
    if (colon == std::string_view::npos || equals == std::string_view::npos || equals < colon) {
      return bad_fault(item, "not of the form gpu:N:FAULT=NUMBER");
    }
    const Result<DeviceName> device = DeviceName::parse(item.substr(0, colon));
    if (!device.ok() || device->type != "GPU" || !device->id) {
      return bad_fault(item, "faults are for emulated GPUs, by number: gpu:0");
    }
    DeviceFaults& f = faults[*device->id];
    const std::string_view what = item.substr(colon + 1, equals - colon - 1);
    const std::string_view value = item.substr(equals + 1);
    if (what == "copy") {
      if (!parse_number(value, &f.copy_speed) || !(f.copy_speed > 0 && f.copy_speed <= 1)) {
        return bad_fault(item, "copy takes a fraction above 0 and at most 1");
      }
      continue;
    }
    std::int64_t* number = what == "alloc"  ? &f.fail_allocation
                           : what == "lost" ? &f.lost_at_kernel
                           : what == "hang" ? &f.hang_at_kernel
                           : what == "flip" ? &f.flip_at_kernel
                                            : nullptr;
    if (number == nullptr) {
      const std::string near = nearest_word(what, {"alloc", "lost", "hang", "flip", "copy"});
      return bad_fault(item, near.empty() ? std::string("unknown fault") : str_cat("did you mean \"", near, "\"?"));
    }
    if (!parse_number(value, number) || *number < 1) return bad_fault(item, str_cat(what, " takes a count from 1"));
  }
  return faults;
}

}  // namespace argosy
