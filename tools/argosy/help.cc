#include "tools/argosy/help.h"

#include <algorithm>

namespace argosy::cli {

namespace {

constexpr std::size_t kTextWidth = 100;

struct Row {
  std::string left, right;
};

// Two columns; the right one wraps at words.
std::string table(const std::vector<Row>& rows) {
  std::size_t indent = 0;
  for (const Row& row : rows) indent = std::max(indent, row.left.size());
  indent = std::min<std::size_t>(indent, 56) + 4;
  std::string text;
  for (const Row& row : rows) {
    std::string line = str_cat("  ", row.left);
    line += line.size() + 2 > indent ? std::string(2, ' ') : std::string(indent - line.size(), ' ');
    for (const std::string& word : str_split(row.right, ' ')) {
      if (line.size() + word.size() > kTextWidth && line.size() > indent) {
        text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
        line = std::string(indent, ' ');
      }
      line += word + " ";
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

Row row_of(const Option& option) {
  Row row{option.name, option.help};
  const bool alone = !option.limits.implied.empty();
  if (!option.placeholder.empty())
    row.left += alone ? str_cat(" [", option.placeholder, "]") : " " + option.placeholder;
  if (!option.limits.one_of.empty()) row.right += str_cat(": ", str_join(option.limits.one_of));
  if (alone) row.right += str_cat(" (", option.placeholder, " is ", option.limits.implied, " where it is left out)");
  if (!option.fallback.empty() && !alone) row.right += str_cat(" (default ", option.fallback, ")");
  if (option.repeated) row.right += " (may be repeated)";
  return row;
}

std::string help(const Command& command, bool full) {
  std::string text = str_cat(command.path(), ": ", command.summary(), "\n");
  if (!command.examples().empty()) {
    text += "\nExamples\n";
    std::vector<Row> rows;
    for (const auto& example : command.examples()) rows.push_back({example.line, example.what});
    text += table(rows);
  }
  text += str_cat("\nUsage\n  ", usage_line(command), "\n");
  if (full && !command.about().empty()) text += str_cat("\n", command.about(), "\n");
  if (!command.commands().empty()) {
    std::vector<Row> rows;
    for (const auto& sub : command.commands()) rows.push_back({sub->name(), sub->summary()});
    text += str_cat("\nCommands\n", table(rows));
  }
  std::vector<Row> arguments, flags;
  for (const Option& option : command.options()) {
    (option.name.starts_with('-') ? flags : arguments).push_back(row_of(option));
  }
  if (!arguments.empty()) text += str_cat("\nArguments\n", table(arguments));
  if (full || flags.empty()) {
    for (const Option& option : global_options()) flags.push_back(row_of(option));
  }
  text += str_cat("\nOptions\n", table(flags));
  if (!full) text += str_cat("\n", command.path(), " --help says more.\n");
  return text;
}

}  // namespace

std::vector<Option> global_options() {
  return {
      {.name = "-q,--quiet", .help = "errors and results only"},
      {.name = "--no-progress", .help = "no progress bar and no progress lines"},
      {.name = "--color",
       .placeholder = "WHEN",
       .help = "colours",
       .fallback = "auto",
       .limits = {.one_of = {"auto", "always", "never"}}},
      {.name = "-h", .help = "short help"},
      {.name = "--help", .help = "full help"},
      {.name = "--version", .help = "the version and what it was built with"},
  };
}

std::string usage_line(const Command& command) {
  std::string line = command.path();
  if (!command.commands().empty()) line += " COMMAND";
  for (const Option& option : command.options()) {
    if (option.name.starts_with('-')) continue;
    line +=
        str_cat(" ", option.required ? "" : "[", option.name, option.repeated ? "..." : "", option.required ? "" : "]");
  }
  return line + " [options]";
}

std::string short_help(const Command& command) { return help(command, false); }
std::string full_help(const Command& command) { return help(command, true); }

}  // namespace argosy::cli
