#include "tools/argosy/cli/help.h"

#include <algorithm>
#include <cstdlib>

namespace argosy::cli {

namespace {

constexpr int kLeastWidth = 60, kMostWidth = 110;
constexpr std::size_t kWidestLeft = 56;

// $COLUMNS within bounds: lines that are too short or too long are hard to read.
std::size_t text_width() {
  const char* columns = std::getenv("COLUMNS");
  const int wanted = columns != nullptr ? std::atoi(columns) : 0;
  return static_cast<std::size_t>(wanted > 0 ? std::clamp(wanted, kLeastWidth, kMostWidth) : kMostWidth);
}

// Of a table's left column; longer entries have a line to themselves.
std::size_t widest_left() { return std::min(kWidestLeft, text_width() / 2); }

struct HelpLine {
  std::string left, right;
};

// Wraps at words what is longer than a line; later lines begin with `indent` spaces.
std::string wrap(std::string line, const std::string& text, std::size_t indent) {
  std::string all;
  const std::size_t width = text_width();
  for (const std::string& word : str_split(text, ' ')) {
    if (line.size() + word.size() > width && line.size() > indent) {
      all += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
      line = std::string(indent, ' ');
    }
    line += word + " ";
  }
  return all + line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
}

// Lines that begin with a space are shown as they are.
std::string paragraphs(const std::string& text) {
  std::string all;
  for (const std::string& line : str_split(text, '\n')) {
    all += line.starts_with(' ') ? line + "\n" : wrap("", line, 0);
  }
  return all;
}

// Two columns; the right one wraps at words. A long left one has its line to itself.
std::string table(const std::vector<HelpLine>& rows) {
  std::size_t indent = 0;
  const std::size_t widest = widest_left();
  for (const HelpLine& row : rows) {
    if (row.left.size() <= widest) indent = std::max(indent, row.left.size());
  }
  indent += 4;
  std::string text;
  for (const HelpLine& row : rows) {
    std::string line = str_cat("  ", row.left);
    if (line.size() + 2 > indent) {
      text += line + "\n";
      line = std::string(indent, ' ');
    } else {
      line += std::string(indent - line.size(), ' ');
    }
    text += wrap(std::move(line), row.right, indent);
  }
  return text;
}

HelpLine row_of(const Option& option) {
  HelpLine row{option.name, option.help};
  const bool alone = !option.limits.implied.empty();
  if (!option.placeholder.empty())
    row.left += alone ? str_cat(" [", option.placeholder, "]") : " " + option.placeholder;
  if (!option.limits.one_of.empty()) row.right += str_cat(": ", str_join(option.limits.one_of));
  if (alone) row.right += str_cat(" (", option.placeholder, " left out: ", option.limits.implied, ")");
  // Where 0 stands for something else, the text says what.
  if (!option.fallback.empty() && !alone && option.help.find("default") == std::string::npos)
    row.right += str_cat(" (default ", option.fallback, ")");
  if (option.repeated && option.name.starts_with('-') && option.help.find("repeat") == std::string::npos)
    row.right += " (may be repeated)";
  return row;
}

std::string help(const Command& command, bool full) {
  std::string text = wrap("", str_cat(command.path(), ": ", command.summary()), 0);
  if (!command.examples().empty()) {
    text += "\nExamples\n";
    std::vector<HelpLine> rows;
    for (const auto& example : command.examples()) rows.push_back({example.line, example.what});
    text += table(rows);
  }
  text += str_cat("\nUsage\n  ", usage_line(command), "\n");
  if (full && !command.about().empty()) text += str_cat("\n", paragraphs(command.about()));
  if (!command.commands().empty()) {
    std::vector<HelpLine> rows;
    for (const auto& sub : command.commands()) rows.push_back({sub->name(), sub->summary()});
    text += str_cat("\nCommands\n", table(rows));
  }
  std::vector<HelpLine> arguments;
  std::vector<std::pair<std::string, std::vector<HelpLine>>> groups;
  const auto add = [&](const std::string& title, const Option& option) {
    auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == title; });
    if (group == groups.end()) group = groups.insert(groups.end(), {title, {}});
    group->second.push_back(row_of(option));
  };
  for (const Option& option : command.options()) {
    if (option.name.starts_with('-')) {
      add(option.group.empty() ? "Options" : option.group, option);
    } else {
      arguments.push_back(row_of(option));
    }
  }
  if (!arguments.empty()) text += str_cat("\nArguments\n", table(arguments));
  if (full || groups.empty()) {
    const std::string title = groups.size() > 1 ? "Output" : "Options";
    for (const Option& option : global_options()) add(title, option);
  }
  std::size_t widest = 0;  // one column for all groups
  for (const auto& [title, rows] : groups) {
    for (const HelpLine& row : rows) widest = std::max(widest, row.left.size() <= widest_left() ? row.left.size() : 0);
  }
  for (auto& [title, rows] : groups) {
    for (HelpLine& row : rows) row.left.resize(std::max(widest, row.left.size()), ' ');
    text += str_cat("\n", title, "\n", table(rows));
  }
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
