#include "tools/argosy/cli/usage_errors.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "tools/argosy/cli/exit_code.h"
#include "tools/argosy/cli/help.h"

namespace argosy::cli {

namespace {

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

// The words that are arguments: neither the command, nor options, nor values of options.
std::vector<std::string> arguments_of(const Command& command, const TypedLine& typed) {
  std::size_t begin = 0;
  for (const Command* c = &command; c->parent() != nullptr; c = c->parent()) ++begin;
  std::vector<std::string> arguments;
  for (std::size_t i = 0; i < typed.words.size(); ++i) {
    const std::string& word = typed.words[i];
    if (!word.starts_with('-')) {
      arguments.push_back(word);
      continue;
    }
    for (const auto* list : {&command.options(), &typed.globals}) {
      for (const Option& option : *list) {
        const auto names = spellings(option);
        // Its value follows.
        if (!option.placeholder.empty() && std::find(names.begin(), names.end(), word) != names.end()) ++i;
      }
    }
  }
  arguments.erase(arguments.begin(),
                  arguments.begin() + static_cast<std::ptrdiff_t>(std::min(begin, arguments.size())));
  return arguments;
}

}  // namespace

std::vector<std::string> spellings(const Option& option) { return str_split(option.name, ','); }
std::string long_name(const Option& option) { return spellings(option).back(); }

bool looks_like_a_number(const std::string& word) {
  const std::size_t begin = word.starts_with('-') ? 1 : 0;
  return begin < word.size() && std::isdigit(static_cast<unsigned char>(word[begin])) != 0;
}

std::string good_use(const Command& command, const Option& option, const TypedLine& line, std::string value) {
  if (value.empty() && !option.limits.one_of.empty()) value = option.limits.one_of.front();
  if (value.empty()) value = option.fallback;
  // A default may be no number that could be typed: it stands for what follows from something else.
  const bool typed = value.empty() || std::atof(value.c_str()) >= option.limits.least;
  if ((value.empty() && option.limits.least > 0) || (looks_like_a_number(value) && !typed))
    value = str_cat(option.limits.least);
  if (!option.name.starts_with('-')) return str_cat(command.path(), " ", value.empty() ? option.name : value);
  std::string use = command.path(), program;
  const std::vector<std::string> arguments = arguments_of(command, line);
  std::size_t at = 0;
  for (const Option& o : command.options()) {
    if (!o.required) continue;
    if (o.limits.may_be_empty) {  // what follows a program's name is its own
      program = str_cat(" -- ", o.name);
      continue;
    }
    const bool sound = at < arguments.size() && !o.repeated && o.set(arguments[at]).ok();
    const std::string otherwise = o.limits.one_of.empty() ? o.name : o.limits.one_of.front();
    use += str_cat(" ", sound ? arguments[at] : otherwise);
    ++at;
  }
  return str_cat(use, " ", long_name(option), " ", value.empty() ? option.placeholder : value, program);
}

Status usage_error(const Command& command, std::string message, std::string next) {
  return Status(Code::kInvalidArgument, std::move(message))
      .with_id(kUsageId)
      .with_where(command.path())
      .with_hint(std::move(next));
}

Status explain_value(const Command& command, const std::vector<Option>& globals, const std::string& value_error,
                     const std::vector<std::string>& words) {
  for (const auto* list : {&command.options(), &globals}) {
    for (const Option& option : *list) {
      for (const std::string& name : spellings(option)) {
        const bool is_last = !words.empty() && words.back() == name;
        const auto given_value = std::find_if(words.begin(), words.end(), [&](const std::string& word) {
          return option.placeholder.empty() && word.starts_with(name + "=");
        });
        if (given_value != words.end()) {
          return usage_error(command, str_cat(name, " is a switch and takes no value: ", *given_value),
                             retyped(words, *given_value, name));
        }
        if (!option.placeholder.empty() && (is_last || value_error.starts_with(name + ":"))) {
          return usage_error(command, str_cat(name, " wants a value, ", option.placeholder, ": ", option.help),
                             good_use(command, option, {globals, words}));
        }
      }
    }
  }
  return usage_error(command, value_error, usage_line(command));
}

Status explain_extra(const Command& command, const std::vector<Option>& globals, const std::string& word,
                     const std::vector<std::string>& words) {
  if (word.size() > 1 && word.starts_with('-')) {
    // The dashes are the same for all: compare what follows them.
    const std::size_t begin = std::min(word.find_first_not_of('-'), word.size());
    const std::string typed = word.substr(begin, word.find('=', begin) - begin);
    std::vector<std::string> known;
    for (const auto* list : {&command.options(), &globals}) {
      for (const Option& option : *list) {
        for (const std::string& name : spellings(option)) {
          if (name.starts_with("--")) known.push_back(name.substr(2));
        }
      }
    }
    const std::string near = nearest_word(typed, known);
    return usage_error(
        command, str_cat("unknown flag ", word.substr(0, word.find('='))),
        near.empty() ? str_cat(command.path(), " --help")
                     : retyped(words, word, str_cat("--", near, word.substr(std::min(word.find('='), word.size())))));
  }
  std::vector<std::string> known;
  for (const auto& sub : command.commands()) known.push_back(sub->name());
  if (known.empty()) {
    return usage_error(command, str_cat("unexpected argument \"", word, "\""), retyped(words, word, ""));
  }
  const std::string near = nearest_word(word, known);
  return usage_error(command, str_cat("unknown command \"", word, "\"; there are ", str_join(known)),
                     near.empty() ? str_cat(command.path(), " --help") : retyped(words, word, near));
}

}  // namespace argosy::cli
