// A command of the argosy program, declared as data: its name, its flags and arguments, and the function that it runs.
// Parsing (parse.h), help (help.h) and error texts all come from the declaration, so they cannot disagree.
//
//   struct Options { std::int64_t steps = 200; std::string data = "synthetic"; bool trace = false; };
//   void define_train(Command& program) {
//     Command& train = program.add("train", "Train a model");
//     Options& options = train.own<Options>();
//     train.option("--steps N", options.steps, "total number of steps", {.least = 1})
//         .option("--trace", options.trace, "write a Chrome trace")
//         .example("argosy train mlp --steps 100", "a hundred steps on every device there is")
//         .runs([&options](Console& console) { return run(options, console); });
//   }
//
// A subcommand is one file <name>.cc with define_<name>, and its name in tools/argosy/CMakeLists.txt.
// Used by one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "argosy/base/status.h"

namespace argosy::cli {

class Console;

// The values that an option accepts; bounds are inclusive.
struct Limits {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  std::vector<std::string> one_of = {};
  // Of an argument with the words of another program's command line: words may be empty, and all words after the
  // program's name belong to that program, even if they look like flags.
  bool may_be_empty = false;
  std::string implied = {};  // of a number: its value if the flag has none ("--check"); "": a value is required
};

// Parses text into `to`; the error says what would be right. (A bool is a switch, which has no text.)
Status parse_value(std::string_view text, const Limits& limits, std::int64_t& to);
Status parse_value(std::string_view text, const Limits& limits, int& to);
Status parse_value(std::string_view text, const Limits& limits, double& to);
Status parse_value(std::string_view text, const Limits& limits, std::string& to);
Status parse_value(std::string_view text, const Limits& limits, std::vector<std::string>& to);  // appends
template <typename T>
Status parse_value(std::string_view text, const Limits& limits, std::optional<T>& to) {
  return parse_value(text, limits, to.emplace());
}

// How a default is shown in the help; empty when there is nothing to show.
std::string show_value(std::int64_t value);
std::string show_value(int value);
std::string show_value(double value);
std::string show_value(const std::string& value);
std::string show_value(const std::vector<std::string>& value);
template <typename T>
std::string show_value(const std::optional<T>& value) {
  return value ? show_value(*value) : "";
}

// One flag or argument as declared.
struct Option {
  std::string name;         // "--steps", "-o,--output", or "FILE" for an argument
  std::string placeholder;  // "N"; empty for a switch
  std::string help;
  std::string fallback;  // the default as text
  std::string group;     // of the help; empty: "Options"
  bool required = false;
  bool repeated = false;
  Limits limits = {};
  std::function<Status(std::string_view)> set;
};

class Command {
 public:
  using Run = std::function<Result<int>(Console&)>;  // an exit code (exit_code.h), or the error to report
  struct Example {
    std::string line, what;
  };

  Command(std::string name, std::string summary) : name_(std::move(name)), summary_(std::move(summary)) {}
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  // Adds a subcommand, which this command owns.
  Command& add(std::string name, std::string summary);

  // Makes a value that lives as long as the command, such as the struct of its options.
  template <typename T>
  T& own() {
    auto holder = std::make_unique<Holder<T>>();
    T& value = holder->value;
    owned_.push_back(std::move(holder));
    return value;
  }

  // "--steps N" takes a value, "--json" with a bool is a switch. `to` must outlive the command (own()) and holds the
  // default.
  template <typename T>
  Command& option(std::string_view spelling, T& to, std::string help, Limits limits = {}) {
    return declare<T>(spelling, to, std::move(help), std::move(limits), false);
  }
  // "FILE": by position, in the order declared; must be given.
  template <typename T>
  Command& argument(std::string_view name, T& to, std::string help, Limits limits = {}) {
    return declare<T>(name, to, std::move(help), std::move(limits), true);
  }
  // "FILE": by position; may be left out.
  template <typename T>
  Command& optional_argument(std::string_view name, T& to, std::string help, Limits limits = {}) {
    return declare<T>(name, to, std::move(help), std::move(limits), false);
  }
  // Declares --json; the console knows whether it was given.
  Command& json(std::string help = "print one JSON document instead of text");

  // Options declared from here on stand together in the help, under this title; "" is "Options".
  Command& group(std::string title);
  Command& about(std::string text);  // a paragraph below the summary in the full help
  Command& example(std::string line, std::string what);
  Command& runs(Run run);

  const std::string& name() const { return name_; }
  const std::string& summary() const { return summary_; }
  const std::string& about() const { return about_; }
  std::string path() const;  // "argosy ckpt ls"
  const Command* parent() const { return parent_; }
  bool has_json() const { return json_; }
  const std::vector<Example>& examples() const { return examples_; }
  const std::vector<Option>& options() const { return options_; }
  const std::vector<std::unique_ptr<Command>>& commands() const { return commands_; }
  const Run& run() const { return run_; }  // empty: only its subcommands run

 private:
  struct Owned {
    virtual ~Owned() = default;
  };
  template <typename T>
  struct Holder : Owned {
    T value = {};
  };

  template <typename T>
  Command& declare(std::string_view spelling, T& to, std::string help, Limits limits, bool required) {
    Option option;
    option.help = std::move(help);
    option.required = required;
    option.repeated = std::is_same_v<T, std::vector<std::string>>;
    option.limits = limits;
    if constexpr (std::is_same_v<T, bool>) {
      option.set = [&to](std::string_view) { return to = true, ok_status(); };
    } else {
      option.fallback = show_value(to);
      option.set = [&to, limits](std::string_view text) { return parse_value(text, limits, to); };
    }
    return declare(spelling, std::move(option));
  }
  Command& declare(std::string_view spelling, Option option);

  std::string name_, summary_, about_, group_;
  const Command* parent_ = nullptr;
  std::vector<std::unique_ptr<Owned>> owned_;
  std::vector<Option> options_;
  std::vector<Example> examples_;
  std::vector<std::unique_ptr<Command>> commands_;
  Run run_;
  bool json_ = false;
};

}  // namespace argosy::cli
