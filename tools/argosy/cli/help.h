// Help made from a command's declaration: examples first, because that is what most people came for.
#pragma once

#include <string>
#include <vector>

#include "tools/argosy/cli/command.h"

namespace argosy::cli {

// -h
std::string short_help(const Command& command);
// --help: also what a command is about, and the global options.
std::string full_help(const Command& command);
// "argosy ckpt cat PREFIX TENSOR [options]"
std::string usage_line(const Command& command);

// Options that every command takes. Their `set` is empty: parse.cc says where the values go.
std::vector<Option> global_options();

}  // namespace argosy::cli
