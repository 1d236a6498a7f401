// parse(): finds the command that the words of a command line name, and sets its options.
#pragma once

#include <string>
#include <vector>

#include "tools/argosy/cli/command.h"
#include "tools/argosy/cli/console.h"

namespace argosy::cli {

enum class Action { kRun, kShortHelp, kFullHelp, kVersion };

struct Parsed {
  const Command* command = nullptr;  // the deepest one named
  Action action = Action::kRun;
  ConsoleOptions console;  // the options every command takes
  Status status;           // the error in the words: message, where, what to type instead
};

// Never fails otherwise: even bad words leave a command and console options to report with.
Parsed parse(const Command& program, const std::vector<std::string>& words);

}  // namespace argosy::cli
