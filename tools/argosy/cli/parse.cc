#include "tools/argosy/cli/parse.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "tools/argosy/cli/exit_code.h"
#include "tools/argosy/cli/help.h"
#include "tools/argosy/cli/usage_errors.h"

namespace argosy::cli {

namespace {

// Every option of these commands that may stand without its number.
void collect_implied(const Command& command, std::vector<const Option*>& to) {
  for (const Option& option : command.options()) {
    if (!option.limits.implied.empty()) to.push_back(&option);
  }
  for (const auto& sub : command.commands()) collect_implied(*sub, to);
}

// "--check" is "--check=3" where no number follows, "--replicate" is "--replicate=all" where neither does "all".
std::vector<std::string> with_implied(const Command& program, std::vector<std::string> words) {
  std::vector<const Option*> options;
  collect_implied(program, options);
  for (std::size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
    if (words[i] == "-np") words[i] = "--np";  // mpirun's and horovodrun's spelling; to CLI11 it is -n with the value p
    if (i + 1 < words.size() && looks_like_a_number(words[i + 1])) continue;
    for (const Option* option : options) {
      if (words[i] == option->name && (i + 1 == words.size() || words[i + 1] != option->limits.implied)) {
        words[i] += str_cat("=", option->limits.implied);
        break;
      }
    }
  }
  return words;
}

// Does the command take a program and its words?
bool starts_a_program(const Command& command) {
  return std::any_of(command.options().begin(), command.options().end(), [](const Option& option) {
    return !option.name.starts_with('-') && option.repeated && option.limits.may_be_empty;
  });
}

// The option that a word gives: "--steps", "--steps=3", "-n", "-n4". Null: none that is known.
const Option* option_given(const std::vector<Option>& options, const std::string& word) {
  for (const Option& option : options) {
    for (const std::string& name : spellings(option)) {
      const bool glued = name.size() == 2 && !option.placeholder.empty();
      if (name.starts_with('-') && (word == name || word.starts_with(name + "=") || (glued && word.starts_with(name))))
        return &option;
    }
  }
  return nullptr;
}

bool has_its_value(const Option& option, const std::string& word) {
  const std::vector<std::string> names = spellings(option);
  return std::find(names.begin(), names.end(), word) == names.end();
}

// Where the words of another program begin: "python" of "argosy run --emulate 2 python train.py --json". All from there
// on is that program's, as it is for env, srun and mpirun. Their number where there are none, or a flag is not known.
std::size_t program_at(const Command& program, const std::vector<Option>& globals,
                       const std::vector<std::string>& words) {
  const Command* command = &program;
  for (std::size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
    if (!words[i].starts_with('-')) {
      const auto& subs = command->commands();
      const auto sub = std::find_if(subs.begin(), subs.end(), [&](const auto& c) { return c->name() == words[i]; });
      if (sub == subs.end()) return starts_a_program(*command) ? i : words.size();
      command = sub->get();
      continue;
    }
    const std::string word = words[i] == "-np" ? "--np" : words[i];
    const Option* option = option_given(command->options(), word);
    if (option == nullptr) option = option_given(globals, word);
    if (option == nullptr) return words.size();
    if (option->placeholder.empty() || has_its_value(*option, word)) continue;
    const std::string& implied = option->limits.implied;
    const bool value = i + 1 < words.size() && (looks_like_a_number(words[i + 1]) || words[i + 1] == implied);
    if (implied.empty() || value) ++i;
  }
  return words.size();
}

class CommandParser {
 public:
  CommandParser(const Command& program, std::vector<std::string> typed) {
    const std::size_t at = program_at(program, globals_, typed);
    if (at < typed.size()) typed.insert(typed.begin() + static_cast<std::ptrdiff_t>(at), "--");
    const std::vector<std::string> words = with_implied(program, std::move(typed));
    app_.set_help_flag("");
    for (Option& option : globals_) {
      option.set = [this, name = spellings(option).back(), limits = option.limits](std::string_view text) {
        return set_global(name, limits, text);
      };
    }
    build(program, app_);
    parsed_.command = &program;
    // What follows "--" is arguments whatever it looks like; CLI11 does not give it to a subcommand's.
    const auto dashes = std::find(words.begin(), words.end(), "--");
    std::vector<std::string> reversed(std::make_reverse_iterator(dashes), words.rend());
    try {
      app_.parse(std::move(reversed));
    } catch (const CLI::ParseError& error) {
      // Only a value that is missing, or one too many, is left to CLI11; the rest is checked here, where the words are
      // ours.
      value_error_ = error.what();
    }
    find_command();
    if (dashes != words.end()) take_arguments({dashes + 1, words.end()});
    finish({words.begin(), dashes});
  }

  Parsed take() { return std::move(parsed_); }

 private:
  Status set_global(const std::string& name, const Limits& limits, std::string_view text) {
    if (name == "--color") return parse_value(text, limits, parsed_.console.color);
    if (name == "--quiet") parsed_.console.quiet = true;
    if (name == "--no-progress") parsed_.console.no_progress = true;
    if (name == "--version") parsed_.action = Action::kVersion;
    if (name == "-h" && parsed_.action != Action::kFullHelp) parsed_.action = Action::kShortHelp;
    if (name == "--help") parsed_.action = Action::kFullHelp;
    return ok_status();
  }

  void build(const Command& command, CLI::App& app) {
    app.allow_extras();
    app.require_subcommand(0, 1);
    for (const Option& option : globals_) declare(command, option, app);
    for (const Option& option : command.options()) declare(command, option, app);
    for (const auto& sub : command.commands()) {
      CLI::App* child = app.add_subcommand(sub->name());
      child->set_help_flag("");
      build(*sub, *child);
    }
  }

  void declare(const Command& command, const Option& option, CLI::App& app) {
    const auto take = [this, &command, &option](const std::vector<std::string>& values) {
      return accept(command, option, values);
    };
    if (!option.name.starts_with('-')) {
      CLI::Option* argument = app.add_option(option.name, CLI::callback_t(take));
      argument->expected(1, option.repeated ? CLI::detail::expected_max_vector_size : 1);
      argument->allow_extra_args(option.repeated);
    } else if (option.placeholder.empty()) {
      app.add_flag_callback(option.name, [take] { take({"true"}); })->disable_flag_override();
    } else {
      CLI::Option* flag = app.add_option(option.name, CLI::callback_t(take))->expected(1);
      flag->multi_option_policy(option.repeated ? CLI::MultiOptionPolicy::TakeAll : CLI::MultiOptionPolicy::TakeLast);
    }
  }

  bool accept(const Command& command, const Option& option, const std::vector<std::string>& values) {
    given_.push_back(&option);
    for (const std::string& value : values) {
      Status status = option.set(value);
      if (status.ok() || !first_error_.ok()) continue;
      // A value with a grammar of its own has an error of its own.
      const bool own = status.id() != invalid_argument().id();
      wrong_ = &option;
      first_error_ = Status(Code::kInvalidArgument, str_cat(long_name(option), ": ", status.message()))
                         .with_id(own ? std::string(status.id()) : kUsageId)
                         .with_where(command.path());
      right_value_ = status.hint();
    }
    return true;
  }

  bool given(const Option& option) const { return std::find(given_.begin(), given_.end(), &option) != given_.end(); }

  void find_command() {
    for (const CLI::App* app = &app_; !app->get_subcommands().empty();) {
      app = app->get_subcommands().front();
      for (const auto& sub : parsed_.command->commands()) {
        if (sub->name() == app->get_name()) {
          parsed_.command = sub.get();
          break;
        }
      }
    }
  }

  void take_arguments(const std::vector<std::string>& words) {
    for (const std::string& word : words) {
      const Option* open = nullptr;
      for (const Option& option : parsed_.command->options()) {
        const bool takes = !option.name.starts_with('-') && (option.repeated || !given(option));
        if (takes && !open) open = &option;
      }
      if (open) {
        accept(*parsed_.command, *open, {word});
      } else {
        extra_.push_back(word);
      }
    }
  }

  void finish(const std::vector<std::string>& words) {
    const Command& command = *parsed_.command;
    for (const Option& option : command.options()) {
      // After a missing value CLI11 has set nothing; scripts still get their JSON error.
      const bool typed = std::find(words.begin(), words.end(), option.name) != words.end();
      if (command.has_json() && option.name == "--json") parsed_.console.json = given(option) || typed;
    }
    // "argosy" alone, or "argosy ckpt": the list of what there is, not an error.
    std::vector<std::string> extra = app_.remaining(true);
    extra.insert(extra.end(), extra_.begin(), extra_.end());
    if (!command.run() && extra.empty() && parsed_.action == Action::kRun) parsed_.action = Action::kShortHelp;
    if (parsed_.action == Action::kRun) parsed_.status = complain(command, words, extra);
    // Help for what there is not is a mistake, too.
    if ((parsed_.action == Action::kShortHelp || parsed_.action == Action::kFullHelp) && !extra.empty() &&
        !extra.front().starts_with('-') && !command.commands().empty()) {
      parsed_.status = explain_extra(command, globals_, extra.front(), words);
      parsed_.action = Action::kRun;
    }
  }

  Status complain(const Command& command, const std::vector<std::string>& words,
                  const std::vector<std::string>& extra) {
    if (!value_error_.empty()) return explain_value(command, globals_, value_error_, words);
    if (!first_error_.ok()) {
      return Status(first_error_).with_hint(good_use(command, *wrong_, {globals_, words}, right_value_));
    }
    if (!extra.empty()) return explain_extra(command, globals_, extra.front(), words);
    for (const Option& option : command.options()) {
      if (!option.required || given(option)) continue;
      const std::string next = command.examples().empty() ? usage_line(command) : command.examples().front().line;
      return usage_error(command, str_cat(option.name, " is missing: ", option.help), next);
    }
    return ok_status();
  }

  CLI::App app_;
  std::vector<Option> globals_ = global_options();
  std::vector<const Option*> given_;
  std::vector<std::string> extra_;
  std::string value_error_;
  Status first_error_;
  const Option* wrong_ = nullptr;  // the option of first_error_
  std::string right_value_;        // one that would do; may be empty
  Parsed parsed_;
};

}  // namespace

Parsed parse(const Command& program, const std::vector<std::string>& words) {
  if (words.empty() || words.front() != "help") return CommandParser(program, words).take();
  // "argosy help ckpt ls" is "argosy ckpt ls --help".
  std::vector<std::string> asked(words.begin() + 1, words.end());
  asked.emplace_back("--help");
  return CommandParser(program, asked).take();
}

}  // namespace argosy::cli
