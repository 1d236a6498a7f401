// Command lines, a word a line: a command with its options, and the devices they name, or an error that says what is
// wrong, where, and what to type next.
#include "argosy/base/check.h"
#include "argosy/device/device.h"
#include "fuzz/input_file.h"
#include "tools/argosy/cli/device_flags.h"
#include "tools/argosy/cli/help.h"
#include "tools/argosy/cli/parse.h"

namespace {

struct Values {
  std::int64_t steps = 200;
  double rate = 0.5;
  std::string optimizer = "adam", model;
  std::optional<int> seed;
  std::vector<std::string> with;
  argosy::DeviceRequest devices;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::string> words(1);
  for (const char c : argosy::as_text(data, size)) {
    if (c == '\n') {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  argosy::cli::Command program("argosy", "a program");
  argosy::cli::Command& train = program.add("train", "trains");
  Values& values = train.own<Values>();
  train.argument("MODEL", values.model, "which model", {.one_of = {"mlp", "lenet"}})
      .option("--steps N", values.steps, "how many", {.least = 1, .most = 1e9})
      .option("-r,--rate X", values.rate, "learning rate", {.least = 0})
      .option("--optimizer NAME", values.optimizer, "update rule", {.one_of = {"sgd", "adam"}})
      .option("--seed N", values.seed, "random seed")
      .option("--with THING", values.with, "a thing more")
      .json()
      .runs([](argosy::cli::Console&) -> argosy::Result<int> { return 0; });
  argosy::cli::add_device_flags(train, values.devices);
  const argosy::cli::Parsed parsed = argosy::cli::parse(program, words);
  ARGOSY_CHECK(parsed.command != nullptr);
  if (!parsed.status.ok()) {
    ARGOSY_CHECK(!parsed.status.message().empty() && !parsed.status.where().empty() && !parsed.status.hint().empty());
    return 0;
  }
  (void)argosy::cli::full_help(*parsed.command);
  const auto devices = argosy::chosen_devices(values.devices);
  ARGOSY_CHECK(devices.ok() || !devices.status().message().empty());
  return 0;
}
