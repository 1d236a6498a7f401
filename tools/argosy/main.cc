// The argosy program: one binary, one file per subcommand (see command.h).
#include <csignal>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "argosy/base/log_style.h"
#include "tools/argosy/cli/command.h"
#include "tools/argosy/cli/console.h"
#include "tools/argosy/cli/error_file.h"
#include "tools/argosy/cli/exit_code.h"
#include "tools/argosy/cli/help.h"
#include "tools/argosy/cli/parse.h"
#include "tools/argosy/version.h"

namespace argosy::cli {

#define COMMAND(name) void define_##name(Command& program);
#include "tools/argosy/commands.inc"
#undef COMMAND

namespace {

int run(const std::vector<std::string>& words) {
  Command program("argosy", "trains one graph on many devices, and tells the truth about speed and memory");
  program.example("argosy train autoencoder --emulate 2", "train on two emulated GPUs, no GPU needed")
      .example("argosy devices", "what is here")
      .example("argosy doctor", "what this machine can do; paste it into a bug report");
#define COMMAND(name) define_##name(program);
#include "tools/argosy/commands.inc"
#undef COMMAND
  program.add("help", "How a command is used: argosy help train is argosy train --help")
      .example("argosy help train", "models, data, devices, checkpoints")
      .runs([](Console&) { return kDone; });
  program.about(
      "Results go to standard output, everything else to standard error. Every command has --help, with examples "
      "first.\n\n"
      "Exit codes\n"
      "  0   done\n"
      "  1   the computation failed, or what was compared differs\n"
      "  2   a flag, an argument or a configuration is wrong\n"
      "  3   a device, file or port is missing or cannot be used; a disk is full\n"
      "  4   out of memory\n"
      "  5   a peer is gone\n"
      "  6   data or a checkpoint is damaged\n"
      "  75  interrupted after a checkpoint: run it again with --resume\n"
      "  128 + N  ended by signal N");

  const Parsed parsed = parse(program, words);
  Console console(parsed.console);
  set_log_style(LogStyle::kPlain);
  // A limit of file sizes is an error of the write, not the end of the process.
  std::signal(SIGXFSZ, SIG_IGN);
  Result<int> result = kDone;
  switch (parsed.action) {
    case Action::kShortHelp: console.print(short_help(*parsed.command)); break;
    case Action::kFullHelp: console.print(full_help(*parsed.command)); break;
    case Action::kVersion: console.print(version_text()); break;
    case Action::kRun:
      if (!parsed.status.ok()) {
        result = parsed.status;
      } else {
        result = parsed.command->run()(console);
      }
  }
  if (result.ok()) {
    Status written = console.flush();
    if (!written.ok()) result = std::move(written);
  }
  if (result.ok()) return *result;
  console.error(result.status(), parsed.command->path());
  write_error_file(result.status(), parsed.command->path());
  return exit_code(result.status());
}

}  // namespace
}  // namespace argosy::cli

int main(int argc, char** argv) {
  using argosy::internal_error;
  using argosy::resource_exhausted;
  using argosy::Status;
  namespace cli = argosy::cli;
  // Libraries may throw where no one expected it; the last edge turns that into an error like any other.
  try {
    return cli::run({argv + 1, argv + argc});
  } catch (const std::bad_alloc&) {
    const Status status = resource_exhausted("the host's memory is used up").with_hint("a smaller --batch");
    cli::Console().error(status, "argosy");
    return cli::exit_code(status);
  } catch (const std::exception& error) {
    const Status status = internal_error(error.what()).with_hint("argosy doctor, and report both outputs as a bug");
    cli::Console().error(status, "argosy");
    return cli::exit_code(status);
  }
}
