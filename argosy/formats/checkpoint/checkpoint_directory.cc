#include "argosy/formats/checkpoint/checkpoint_directory.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>
#include <sys/stat.h>

#include <algorithm>
#include <tuple>

#include "argosy/base/log.h"
#include "argosy/base/system/file.h"
#include "argosy/formats/checkpoint/checkpoint.h"
#include "argosy/formats/proto/bundle.pb.h"

namespace argosy::tf {

namespace {

constexpr std::string_view kIndex = ".index";
constexpr std::int64_t kMostStateBytes = 4 << 20;

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// "model.ckpt-120" → "model.ckpt"
std::string_view stem(std::string_view name) {
  return checkpoint_step(name) < 0 ? name : name.substr(0, name.rfind('-'));
}

std::int64_t modified(const std::string& path) {
  struct stat info = {};
  if (::stat(path.c_str(), &info) != 0) return 0;
  return static_cast<std::int64_t>(info.st_mtim.tv_sec) * 1'000'000'000 + info.st_mtim.tv_nsec;
}

class SilentErrors final : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, int column, const std::string& message) override {
    if (first_.empty()) first_ = str_cat("line ", line + 1, ", column ", column + 1, ": ", message);
  }
  const std::string& first() const { return first_; }

 private:
  std::string first_;
};

}  // namespace

std::int64_t checkpoint_step(std::string_view prefix) {
  const std::size_t dash = prefix.rfind('-');
  if (dash == std::string_view::npos) return -1;
  const std::string_view digits = prefix.substr(dash + 1);
  std::int64_t step = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), step);
  const bool whole = error == std::errc() && end == digits.data() + digits.size() && digits.front() != '-';
  return whole ? step : -1;
}

Result<CheckpointStateFile> read_checkpoint_state(const std::string& directory) {
  const std::string path = join_path(directory, "checkpoint");
  ARGOSY_ASSIGN_OR_RETURN(const std::string text, read_file(path, kMostStateBytes));
  tensorflow::CheckpointState state;
  google::protobuf::TextFormat::Parser parser;
  SilentErrors errors;
  parser.RecordErrorsTo(&errors);
  parser.AllowUnknownField(true);
  if (!parser.ParseFromString(text, &state)) {
    return data_loss("the checkpoint state file ", path, " cannot be parsed: ", errors.first()).with_id("ARG-CKPT-014");
  }
  const auto absolute = [&](const std::string& p) { return p.starts_with('/') ? p : join_path(directory, p); };
  CheckpointStateFile result;
  if (!state.model_checkpoint_path().empty()) result.latest = absolute(state.model_checkpoint_path());
  for (const std::string& p : state.all_model_checkpoint_paths()) result.all.push_back(absolute(p));
  return result;
}

std::string checkpoint_state_text(const std::string& directory, const std::vector<std::string>& prefixes) {
  const std::string inside = join_path(directory, "");
  const auto relative = [&](const std::string& p) { return p.starts_with(inside) ? p.substr(inside.size()) : p; };
  tensorflow::CheckpointState state;
  for (const std::string& p : prefixes) state.add_all_model_checkpoint_paths(relative(p));
  if (!prefixes.empty()) state.set_model_checkpoint_path(relative(prefixes.back()));
  std::string text;
  google::protobuf::TextFormat::PrintToString(state, &text);
  return text;
}

Result<std::vector<std::string>> list_checkpoints(const std::string& directory, std::string_view name) {
  ARGOSY_ASSIGN_OR_RETURN(const auto files, list_directory(directory));
  using Entry = std::tuple<std::int64_t, std::int64_t, std::string>;
  std::vector<Entry> found;
  for (const std::string& file : files) {
    if (!file.ends_with(kIndex)) continue;
    const std::string prefix = file.substr(0, file.size() - kIndex.size());
    if (!name.empty() && stem(prefix) != name) continue;
    found.emplace_back(checkpoint_step(prefix), modified(join_path(directory, file)), join_path(directory, prefix));
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> prefixes;
  for (Entry& entry : found) prefixes.push_back(std::move(std::get<2>(entry)));
  return prefixes;
}

Result<LatestCheckpoint> latest_checkpoint(const std::string& directory) {
  std::string_view name;
  const auto state = read_checkpoint_state(directory);
  if (state.ok()) name = stem(base_name(state->latest));
  if (!state.ok() && state.status().code() == Code::kDataLoss) ARGOSY_LOG(kWarning, state.status().message());
  ARGOSY_ASSIGN_OR_RETURN(const std::vector<std::string> prefixes, list_checkpoints(directory, name));
  LatestCheckpoint latest;
  for (auto it = prefixes.rbegin(); it != prefixes.rend(); ++it) {
    const auto reader = CheckpointReader::open(*it);
    Status status = reader.ok() ? reader->verify() : reader.status();
    if (status.ok()) {
      latest.prefix = *it;
      latest.step = checkpoint_step(*it);
      return latest;
    }
    ARGOSY_LOG(kWarning, "skipping checkpoint ", *it, ": ", status.message());
    latest.skipped.push_back({*it, std::move(status)});
  }
  if (latest.skipped.empty()) {
    return not_found("no checkpoint in ", directory).with_id("ARG-CKPT-007").with_hint("start without --resume");
  }
  std::vector<std::string> reasons;
  for (const DamagedCheckpoint& d : latest.skipped) reasons.push_back(str_cat(d.prefix, ": ", d.why.message()));
  return data_loss("all ", reasons.size(), " checkpoints in ", directory, " are damaged:\n  ",
                   str_join(reasons, "\n  "))
      .with_id("ARG-CKPT-004");
}

}  // namespace argosy::tf
