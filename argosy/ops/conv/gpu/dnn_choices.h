// DnnChoices: the fastest cuDNN engine of each convolution, found by timing. A file of the user's keeps them between
// runs.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "argosy/base/mutex.h"

namespace argosy::cuda {

// An engine by cuDNN's number, and its position among those that cuDNN offers and the problem allows. cuDNN offers an
// engine several times, with different settings.
struct DnnChoice {
  int engine = 0, place = 0;
  auto operator<=>(const DnnChoice&) const = default;
};

// Keys are one line of text, which holds all that the choice depends on (DnnConvolutions makes them). Thread-safe.
// Processes may share the file; a write replaces it as a whole.
class DnnChoices {
 public:
  // Reads the choices of the file `path`; if empty, choices live as long as this object. A file that is not ours, or is
  // cut off, is ignored with a warning, and replaced when a new choice is found.
  explicit DnnChoices(std::string path);

  std::optional<DnnChoice> find(const std::string& key) const;
  // Adds a choice and writes the file, with the choices that other processes have written since. If the file cannot be
  // written, the next run times the convolution again.
  void keep(const std::string& key, const DnnChoice& choice);

 private:
  using Table = std::map<std::string, DnnChoice>;
  // read() adds the file's choices to `to`; adds nothing if there is no file. Both return false if it is not a file of
  // ours.
  static bool read(const std::string& path, Table& to);
  static bool parse(std::string_view text, Table& to);

  const std::string path_;
  mutable Mutex mutex_;
  Table table_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace argosy::cuda
