// Usage errors: each says what is wrong with the command line, and the line to type instead.
#pragma once

#include <string>
#include <vector>

#include "tools/argosy/cli/command.h"

namespace argosy::cli {

std::vector<std::string> spellings(const Option& option);  // "-n", "--np"
std::string long_name(const Option& option);               // the last of them
bool looks_like_a_number(const std::string& word);         // "-3", "0.5"

// What was typed, to say what to type instead.
struct TypedLine {
  const std::vector<Option>& globals;     // options of all commands
  const std::vector<std::string>& words;  // without the program's name
};

// "argosy train mlp --steps 200", with the arguments that were typed, else with ones that would do; `value` for the
// option, where one is given.
std::string good_use(const Command& command, const Option& option, const TypedLine& line, std::string value = "");

// An error of usage at this command; `next` is the line to type.
Status usage_error(const Command& command, std::string message, std::string next);
// The option whose value is missing, or which takes none. `value_error`: what the parser said. `globals`: options of
// all commands. `words`: what was typed.
Status explain_value(const Command& command, const std::vector<Option>& globals, const std::string& value_error,
                     const std::vector<std::string>& words);
// A word that is no flag, no command and no argument of this command.
Status explain_extra(const Command& command, const std::vector<Option>& globals, const std::string& word,
                     const std::vector<std::string>& words);

}  // namespace argosy::cli
