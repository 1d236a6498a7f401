#include "argosy/strategy/strategy_spec.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

#include "argosy/strategy/data_parallel/data_parallel.h"

namespace argosy {

namespace {

constexpr int kMostDevices = 1024;  // of one box

// A key with a number.
struct Key {
  const char* name;
  int StrategySpec::*field;
  int least, most;
  const char* example;  // what to type
  const char* meaning;  // of the number
};
constexpr Key kKeys[] = {
    {"dp", &StrategySpec::dp, 1, kMostDevices, "dp", "the number of devices"},
    {"accumulate", &StrategySpec::accumulate, 1, kMostMicroBatches, "dp,accumulate=4",
     "micro-batches per device and step"},
    {"zero", &StrategySpec::zero, 0, 1, "dp,zero=1", "0 or 1: whether the optimizer's slots are sharded"},
};

template <typename... Parts>
Status wrong(std::string_view text, std::string_view type, const Parts&... parts) {
  return invalid_argument("the strategy \"", text, "\": ", parts...)
      .with_id("ARG-SHARD-001")
      .with_hint(str_cat("--strategy ", type));
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

Status unknown_word(std::string_view text, std::string_view word) {
  if (word == "auto") return wrong(text, "auto", "auto chooses all of it, so it stands alone");
  if (word.starts_with('@')) return wrong(text, word, "a file holds all of it, so it stands alone");
  std::vector<std::string> known = {"auto"};
  for (const Key& key : kKeys) known.emplace_back(key.name);
  const std::string near = nearest_word(word, known);
  const auto meant = std::find_if(std::begin(kKeys), std::end(kKeys), [&](const Key& key) { return near == key.name; });
  return wrong(text,
               near == "auto"             ? "auto"
               : meant != std::end(kKeys) ? meant->example
                                          : "dp",
               "\"", word, "\" is none of dp, accumulate, zero, auto, @FILE");
}

Status set_number(std::string_view text, const Key& key, std::string_view value, StrategySpec& spec) {
  const auto number = whole_number(value);
  if (!number) return wrong(text, key.example, key.name, "=\"", value, "\" is no whole number; it is ", key.meaning);
  if (*number < key.least || *number > key.most) {
    return wrong(text, key.example, key.name, "=", *number, " is not from ", key.least, " to ", key.most, "; it is ",
                 key.meaning);
  }
  spec.*key.field = static_cast<int>(*number);
  return ok_status();
}

}  // namespace

Result<StrategySpec> StrategySpec::parse(std::string_view text) {
  const std::string_view all = str_trim(text);
  StrategySpec spec;
  if (all.empty()) return wrong(text, "dp", "it is empty");
  if (all == "auto") {
    spec.automatic = true;
    return spec;
  }
  if (all == "@") return wrong(text, "@plan.json", "no file is named after @");
  if (all.front() == '@') {
    spec.file = all.substr(1);
    return spec;
  }
  std::vector<const char*> given;
  for (const std::string& part : str_split(all, ',')) {
    const std::string_view item = str_trim(part);
    const std::size_t equals = item.find('=');
    const std::string_view word = str_trim(item.substr(0, equals));
    if (item.empty()) return wrong(text, "dp,zero=1", "nothing stands between two commas, or at an end");
    const auto key = std::find_if(std::begin(kKeys), std::end(kKeys), [&](const Key& k) { return word == k.name; });
    if (key == std::end(kKeys)) return unknown_word(text, word);
    if (std::find(given.begin(), given.end(), key->name) != given.end()) {
      return wrong(text, key->example, key->name, " is given twice");
    }
    given.push_back(key->name);
    const bool alone = equals == std::string_view::npos;
    if (alone && key->field != &StrategySpec::dp) {
      return wrong(text, key->example, key->name, " wants a number, ", key->meaning);
    }
    if (!alone) ARGOSY_RETURN_IF_ERROR(set_number(text, *key, str_trim(item.substr(equals + 1)), spec));
  }
  return spec;
}

std::string StrategySpec::to_string() const {
  if (automatic) return "auto";
  if (!file.empty()) return "@" + file;
  std::string text = dp > 0 ? str_cat("dp=", dp) : "dp";
  if (accumulate != 1) text += str_cat(",accumulate=", accumulate);
  if (zero != 0) text += str_cat(",zero=", zero);
  return text;
}

Status StrategySpec::check(int devices) const {
  if (automatic || !file.empty() || dp == 0 || dp == devices) return ok_status();
  StrategySpec other = *this;
  other.dp = devices;
  const std::string wanted = str_cat(dp, dp == 1 ? " device" : " devices");
  return invalid_argument("the strategy \"", to_string(), "\" is for ", wanted, ", and the step has ", devices)
      .with_id("ARG-SHARD-002")
      .with_hint(str_cat("--strategy ", other.to_string(), ", or ", wanted));
}

std::string StrategySpec::empty_micro_batches(int devices, std::int64_t batch) const {
  const std::int64_t pieces = std::int64_t{accumulate} * devices;
  if (automatic || !file.empty() || accumulate == 1 || batch <= 0 || pieces <= batch) return "";
  StrategySpec other = *this;
  other.accumulate = static_cast<int>(std::max<std::int64_t>(1, batch / devices));
  return str_cat(pieces - batch, " of ", pieces, " micro-batches are empty, a batch has ", batch,
                 batch == 1 ? " example" : " examples", ": --strategy ", other.to_string(), " waits less");
}

}  // namespace argosy
