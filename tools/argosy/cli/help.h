// Help made from a command's declaration: examples first, because that is what most people came for.
#pragma once

#include <string>
#include <vector>

#include "tools/argosy/cli/command.h"

namespace argosy::cli {

// For -h. Has the global options only if the command has no flags of its own.
std::string short_help(const Command& command);
// For --help: as short_help(), with what the command is about, and always with the global options.
std::string full_help(const Command& command);
// "argosy ckpt cat PREFIX TENSOR [options]"
std::string usage_line(const Command& command);

// Options that every command takes. Their Option::set is an empty function: the parser (parse.cc) fills it in.
std::vector<Option> global_options();

}  // namespace argosy::cli
