// Which engine was the fastest for a convolution, found by timing: kept from run to run in a file of the user's.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "argosy/base/mutex.h"

namespace argosy::cuda {

// An engine by the library's number, and its place among those that the library named and the problem allows: an engine
// is there several times, with other settings.
struct DnnChoice {
  int engine = 0, place = 0;
  auto operator<=>(const DnnChoice&) const = default;
};

// Keys are one line of text: all that the choice depends on (DnnConvolutions makes them). Thread-safe; processes may
// share the file, which is replaced as a whole.
class DnnChoices {
 public:
  // Of `path`; empty: kept for this process alone. A file that is not ours, or was cut off, is left out with a warning,
  // and replaced when something new is found.
  explicit DnnChoices(std::string path);

  std::optional<DnnChoice> find(const std::string& key) const;
  // Remembers, and writes what it knows and what others have written since. A file that cannot be written costs a
  // timing next time, nothing else.
  void keep(const std::string& key, const DnnChoice& choice);

 private:
  using Table = std::map<std::string, DnnChoice>;
  // Nothing: there is no file. False beside it: one that is not ours.
  static bool read(const std::string& path, Table& to);
  static bool parse(std::string_view text, Table& to);

  const std::string path_;
  mutable Mutex mutex_;
  Table table_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace argosy::cuda
