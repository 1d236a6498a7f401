#include "tools/argosy/cli/parse.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "tools/argosy/cli/exit_code.h"
#include "tools/argosy/cli/help.h"

namespace argosy::cli {

namespace {

std::vector<std::string> spellings(const Option& option) { return str_split(option.name, ','); }
std::string long_name(const Option& option) { return spellings(option).back(); }

bool looks_like_a_number(const std::string& word) {
  const std::size_t begin = word.starts_with('-') ? 1 : 0;
  return begin < word.size() && std::isdigit(static_cast<unsigned char>(word[begin])) != 0;
}

// "argosy train autoencoder --steps 200", with values that would do.
std::string good_use(const Command& command, const Option& option, std::string value = "") {
  if (value.empty() && !option.limits.one_of.empty()) value = option.limits.one_of.front();
  if (value.empty()) value = option.fallback;
  // A default may be no number that could be typed: it stands for what follows from something else.
  const bool typed = value.empty() || std::atof(value.c_str()) >= option.limits.least;
  if ((value.empty() && option.limits.least > 0) || (looks_like_a_number(value) && !typed))
    value = str_cat(option.limits.least);
  if (!option.name.starts_with('-')) return str_cat(command.path(), " ", value.empty() ? option.name : value);
  std::string use = command.path();
  for (const Option& o : command.options()) {
    if (o.required) use += str_cat(" ", o.limits.one_of.empty() ? o.name : o.limits.one_of.front());
  }
  return str_cat(use, " ", long_name(option), " ", value.empty() ? option.placeholder : value);
}

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

// The line that was typed, with its last `word` replaced, or left out where `by` is empty.
std::string retyped(const std::vector<std::string>& words, const std::string& word, const std::string& by) {
  std::vector<std::string> line = words;
  const auto at = std::find(line.rbegin(), line.rend(), word);
  if (at != line.rend()) {
    *at = by;
    if (by.empty()) line.erase(std::next(at).base());
  }
  return str_cat("argosy", line.empty() ? "" : " ", str_join(line, " "));
}

class CommandParser {
 public:
  CommandParser(const Command& program, const std::vector<std::string>& typed) {
    const std::vector<std::string> words = with_implied(program, typed);
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
    if (name == "--version") parsed_.wish = Wish::kVersion;
    if (name == "-h" && parsed_.wish != Wish::kFullHelp) parsed_.wish = Wish::kShortHelp;
    if (name == "--help") parsed_.wish = Wish::kFullHelp;
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
      std::string use = good_use(command, option, status.hint());
      // A value with a grammar of its own has an error of its own.
      const bool own = status.id() != invalid_argument().id();
      first_error_ = Status(Code::kInvalidArgument, str_cat(long_name(option), ": ", status.message()))
                         .with_id(own ? std::string(status.id()) : kUsageId)
                         .with_where(command.path())
                         .with_hint(std::move(use));
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
    if (!command.run() && extra.empty() && parsed_.wish == Wish::kRun) parsed_.wish = Wish::kShortHelp;
    if (parsed_.wish == Wish::kRun) parsed_.status = complain(command, words, extra);
    // Help for what there is not is a mistake, too.
    if ((parsed_.wish == Wish::kShortHelp || parsed_.wish == Wish::kFullHelp) && !extra.empty() &&
        !extra.front().starts_with('-') && !command.commands().empty()) {
      parsed_.status = explain_extra(command, extra.front(), words);
      parsed_.wish = Wish::kRun;
    }
  }

  Status usage(const Command& command, std::string message, std::string next) const {
    return Status(Code::kInvalidArgument, std::move(message))
        .with_id(kUsageId)
        .with_where(command.path())
        .with_hint(std::move(next));
  }

  Status complain(const Command& command, const std::vector<std::string>& words,
                  const std::vector<std::string>& extra) {
    if (!value_error_.empty()) return explain_value(command, words);
    if (!first_error_.ok()) return first_error_;
    if (!extra.empty()) return explain_extra(command, extra.front(), words);
    for (const Option& option : command.options()) {
      if (!option.required || given(option)) continue;
      const std::string next = command.examples().empty() ? usage_line(command) : command.examples().front().line;
      return usage(command, str_cat(option.name, " is missing: ", option.help), next);
    }
    return ok_status();
  }

  Status explain_value(const Command& command, const std::vector<std::string>& words) const {
    for (const auto* list : {&command.options(), &globals_}) {
      for (const Option& option : *list) {
        for (const std::string& name : spellings(option)) {
          const bool is_last = !words.empty() && words.back() == name;
          const auto given_value = std::find_if(words.begin(), words.end(), [&](const std::string& word) {
            return option.placeholder.empty() && word.starts_with(name + "=");
          });
          if (given_value != words.end()) {
            return usage(command, str_cat(name, " is a switch and takes no value: ", *given_value),
                         retyped(words, *given_value, name));
          }
          if (!option.placeholder.empty() && (is_last || value_error_.starts_with(name + ":"))) {
            return usage(command, str_cat(name, " wants a value, ", option.placeholder, ": ", option.help),
                         good_use(command, option));
          }
        }
      }
    }
    return usage(command, value_error_, usage_line(command));
  }

  Status explain_extra(const Command& command, const std::string& word, const std::vector<std::string>& words) const {
    if (word.size() > 1 && word.starts_with('-')) {
      // The dashes are the same for all: compare what follows them.
      const std::size_t begin = std::min(word.find_first_not_of('-'), word.size());
      const std::string typed = word.substr(begin, word.find('=', begin) - begin);
      std::vector<std::string> known;
      for (const auto* list : {&command.options(), &globals_}) {
        for (const Option& option : *list) {
          for (const std::string& name : spellings(option)) {
            if (name.starts_with("--")) known.push_back(name.substr(2));
          }
        }
      }
      const std::string near = nearest_word(typed, known);
      return usage(command, str_cat("unknown flag ", word.substr(0, word.find('='))),
                   near.empty()
                       ? str_cat(command.path(), " --help")
                       : retyped(words, word, str_cat("--", near, word.substr(std::min(word.find('='), word.size())))));
    }
    std::vector<std::string> known;
    for (const auto& sub : command.commands()) known.push_back(sub->name());
    if (known.empty()) {
      return usage(command, str_cat("unexpected argument \"", word, "\""), retyped(words, word, ""));
    }
    const std::string near = nearest_word(word, known);
    return usage(command, str_cat("unknown command \"", word, "\"; there are ", str_join(known)),
                 near.empty() ? str_cat(command.path(), " --help") : retyped(words, word, near));
  }

  CLI::App app_;
  std::vector<Option> globals_ = global_options();
  std::vector<const Option*> given_;
  std::vector<std::string> extra_;
  std::string value_error_;
  Status first_error_;
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
