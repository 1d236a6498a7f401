#include "argosy/ops/conv/gpu/dnn_choices.h"

#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "argosy/base/log.h"

namespace argosy::cuda {

namespace {

constexpr std::string_view kFirstLine = "argosy convolution engines 2";

// "12 rest" -> 12, and `text` becomes "rest".
std::optional<int> take_number(std::string_view& text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end == text.data() + text.size() || *end != ' ') return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()) + 1);
  return value;
}

std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

}  // namespace

DnnChoices::DnnChoices(std::string path) : path_(std::move(path)) {
  Table found;
  if (!read(path_, found)) {
    ARGOSY_LOG(kWarning, path_, " is no list of convolution engines of this version, or was cut off: it is not read");
    return;
  }
  MutexLock lock(mutex_);
  table_ = std::move(found);
}

bool DnnChoices::read(const std::string& path, Table& to) {
  if (path.empty()) return true;
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return true;
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  if (!file || parse(text.str(), to)) return static_cast<bool>(file);
  to.clear();
  return false;
}

// Reads the first line, a line "engine place key" for each choice, and their number, which shows if the file was cut
// off.
bool DnnChoices::parse(std::string_view text, Table& to) {
  if (take_line(text) != kFirstLine) return false;
  while (!text.empty()) {
    std::string_view line = take_line(text);
    if (line == str_cat("end ", to.size())) return text.empty();
    const auto engine = take_number(line);
    if (!engine) return false;
    const auto place = take_number(line);
    if (!place || line.empty()) return false;
    to[std::string(line)] = {*engine, *place};
  }
  return false;
}

std::optional<DnnChoice> DnnChoices::find(const std::string& key) const {
  MutexLock lock(mutex_);
  const auto at = table_.find(key);
  if (at == table_.end()) return std::nullopt;
  return at->second;
}

void DnnChoices::keep(const std::string& key, const DnnChoice& choice) {
  MutexLock lock(mutex_);
  table_[key] = choice;
  if (path_.empty()) return;
  Table all;
  if (!read(path_, all)) all.clear();
  for (const auto& [k, v] : table_) all[k] = v;
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), error);
  const std::string aside = str_cat(path_, ".", getpid());
  {
    std::ofstream file(aside, std::ios::binary | std::ios::trunc);
    file << kFirstLine << '\n';
    for (const auto& [k, v] : all) file << v.engine << ' ' << v.place << ' ' << k << '\n';
    file << "end " << all.size() << '\n';
    if (!file.flush()) error = std::make_error_code(std::errc::io_error);
  }
  if (!error) std::filesystem::rename(aside, path_, error);
  if (error) std::filesystem::remove(aside, error);
}

}  // namespace argosy::cuda
