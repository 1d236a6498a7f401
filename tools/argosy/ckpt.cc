#include <nlohmann/json.hpp>

#include "argosy/base/clock.h"
#include "argosy/base/system/file.h"
#include "argosy/formats/checkpoint/checkpoint.h"
#include "argosy/formats/checkpoint/checkpoint_directory.h"
#include "tools/argosy/ckpt_values.h"
#include "tools/argosy/cli/command.h"
#include "tools/argosy/cli/console.h"
#include "tools/argosy/cli/exit_code.h"
#include "tools/argosy/cli/table.h"

namespace argosy::cli {

namespace {

using nlohmann::ordered_json;
using tf::CheckpointReader;

// What people have at hand: a prefix, one of its files, or a folder (then its newest).
Result<std::string> prefix_of(const std::string& path) {
  if (is_directory(path)) {
    ARGOSY_ASSIGN_OR_RETURN(const std::vector<std::string> all, tf::list_checkpoints(path));
    if (!all.empty()) return all.back();
    return not_found("no checkpoint in the folder ", path).with_hint("argosy train mlp --checkpoint-dir " + path);
  }
  const std::size_t dot = path.rfind(".index");
  const std::size_t data = path.rfind(".data-");
  if (dot != std::string::npos && dot + 6 == path.size()) return path.substr(0, dot);
  return data != std::string::npos ? path.substr(0, data) : path;
}

Result<CheckpointReader> open(const std::string& path) {
  ARGOSY_ASSIGN_OR_RETURN(const std::string prefix, prefix_of(path));
  Result<CheckpointReader> reader = CheckpointReader::open(prefix);
  if (reader.ok()) return reader;
  Status status = std::move(reader).status();
  return std::move(status).with_where(prefix).with_hint(str_cat("argosy ckpt ls ", parent_directory(prefix)));
}

std::int64_t total_bytes(const CheckpointReader& reader) {
  std::int64_t bytes = 0;
  for (const tf::CheckpointEntry& entry : reader.entries()) bytes += entry.bytes;
  return bytes;
}

std::string dtype_text(const tf::CheckpointEntry& entry) {
  return entry.dtype == DType::kInvalid ? str_cat("type ", entry.dtype_number) : std::string(dtype_name(entry.dtype));
}

ordered_json sizes(const Shape& shape) {
  ordered_json list = ordered_json::array();
  for (const std::int64_t size : shape.sizes()) list.push_back(size);
  return list;
}

// Names may hold any bytes; JSON may not.
std::string dump(const ordered_json& document) {
  return document.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

Result<int> list_folder(const std::string& folder, Console& console) {
  ARGOSY_ASSIGN_OR_RETURN(const std::vector<std::string> all, tf::list_checkpoints(folder));
  ordered_json list = ordered_json::array();
  std::vector<std::vector<std::string>> rows = {{"checkpoint", "step", "tensors", "size"}};
  for (const std::string& prefix : all) {
    const Result<CheckpointReader> reader = CheckpointReader::open(prefix);
    const std::int64_t step = tf::checkpoint_step(prefix);
    ordered_json item = {{"prefix", prefix}, {"step", step}};
    if (reader.ok()) {
      item["tensors"] = reader->entries().size();
      item["bytes"] = total_bytes(*reader);
      rows.push_back({prefix, str_cat(step), str_cat(reader->entries().size()),
                      format_bytes(static_cast<std::uint64_t>(total_bytes(*reader)))});
    } else {
      item["damaged"] = reader.status().message();
      rows.push_back({prefix, str_cat(step), "-", "damaged: " + reader.status().message()});
    }
    list.push_back(std::move(item));
  }
  if (console.json()) return console.print(dump({{"schema_version", 1}, {"checkpoints", list}})), kDone;
  if (all.empty()) return console.note("no checkpoint in this folder"), kDone;
  console.print(format_table(rows));
  return kDone;
}

Result<int> list_tensors(const std::string& path, Console& console) {
  ARGOSY_ASSIGN_OR_RETURN(const CheckpointReader reader, open(path));
  if (console.json()) {
    ordered_json list = ordered_json::array();
    for (const tf::CheckpointEntry& entry : reader.entries()) {
      list.push_back({{"name", entry.name},
                      {"dtype", dtype_text(entry)},
                      {"shape", sizes(entry.shape)},
                      {"bytes", entry.bytes},
                      {"slices", entry.slices}});
    }
    return console.print(dump({{"schema_version", 1},
                               {"prefix", reader.prefix()},
                               {"bytes", total_bytes(reader)},
                               {"tensors", list}})),
           kDone;
  }
  std::vector<std::vector<std::string>> rows = {{"tensor", "dtype", "shape", "bytes"}};
  for (const tf::CheckpointEntry& entry : reader.entries()) {
    rows.push_back({entry.name, dtype_text(entry), entry.shape.to_string(), str_cat(entry.bytes)});
  }
  console.print(format_table(rows));
  console.note(str_cat(reader.entries().size(), " tensors, ",
                       format_bytes(static_cast<std::uint64_t>(total_bytes(reader))), " in ", reader.prefix()));
  return kDone;
}

Result<int> cat(const std::string& path, const std::string& name, std::int64_t limit, Console& console) {
  ARGOSY_ASSIGN_OR_RETURN(const CheckpointReader reader, open(path));
  ARGOSY_ASSIGN_OR_RETURN(const Tensor tensor, reader.read(name));
  const std::vector<std::string> values = value_texts(tensor, limit);
  if (console.json()) {
    return console.print(dump({{"schema_version", 1},
                               {"name", name},
                               {"dtype", dtype_name(tensor.dtype())},
                               {"shape", sizes(tensor.shape())},
                               {"values", values},
                               {"shown", values.size()},
                               {"elements", tensor.elements()}})),
           kDone;
  }
  const std::int64_t row = tensor.shape().rank() == 0 ? 1 : std::max<std::int64_t>(tensor.shape().back(), 1);
  std::string text = str_cat(name, " ", dtype_name(tensor.dtype()), tensor.shape().to_string(), "\n");
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool ends = (static_cast<std::int64_t>(i) + 1) % row == 0 || i + 1 == values.size();
    text += str_cat(values[i], ends ? "\n" : " ");
  }
  console.print(text);
  const auto shown = static_cast<std::int64_t>(values.size());
  if (shown < tensor.elements()) {
    console.note(str_cat(shown, " of ", tensor.elements(), " values; --limit ", tensor.elements(), " shows all"));
  }
  return kDone;
}

// Every byte against its checksum. All are looked at; the first that is damaged or missing decides the exit code.
Result<int> verify(const std::vector<std::string>& paths, Console& console) {
  std::vector<std::string> prefixes;
  for (const std::string& path : paths) {
    if (is_directory(path)) {
      ARGOSY_ASSIGN_OR_RETURN(const std::vector<std::string> all, tf::list_checkpoints(path));
      prefixes.insert(prefixes.end(), all.begin(), all.end());
    } else {
      ARGOSY_ASSIGN_OR_RETURN(prefixes.emplace_back(), prefix_of(path));
    }
  }
  if (prefixes.empty()) return not_found("no checkpoint in ", str_join(paths)).with_hint("argosy ckpt ls FOLDER");
  ordered_json list = ordered_json::array();
  Status first;
  for (const std::string& prefix : prefixes) {
    const std::int64_t start = now_nanos();
    Result<CheckpointReader> reader = open(prefix);
    Status status = reader.ok() ? reader->verify() : reader.status();
    const double seconds = seconds_since(start);
    if (status.ok()) {
      list.push_back({{"prefix", prefix}, {"ok", true}, {"bytes", total_bytes(*reader)}, {"seconds", seconds}});
      if (!console.json()) {
        console.print(str_cat("ok       ", prefix, "  ", reader->entries().size(), " tensors, ",
                              format_bytes(static_cast<std::uint64_t>(total_bytes(*reader))), "\n"));
      }
      continue;
    }
    const bool missing = status.id() == "ARG-CKPT-007";  // there is nothing that could be damaged
    list.push_back({{"prefix", prefix}, {"ok", false}, {"missing", missing}, {"error", status.message()}});
    if (!console.json()) console.print(str_cat(missing ? "missing  " : "DAMAGED  ", prefix, "\n"));
    if (first.ok()) first = std::move(status).with_where(prefix);
  }
  if (console.json()) console.print(dump({{"schema_version", 1}, {"checkpoints", list}}));
  if (!first.ok() && console.json()) return exit_code(first);  // one document only, and it has the errors
  if (!first.ok()) return first;
  return kDone;
}

Result<int> diff(const std::string& left, const std::string& right, double tolerance, Console& console) {
  ARGOSY_ASSIGN_OR_RETURN(const CheckpointReader a, open(left));
  ARGOSY_ASSIGN_OR_RETURN(const CheckpointReader b, open(right));
  ARGOSY_ASSIGN_OR_RETURN(const std::vector<Difference> found, compare_checkpoints(a, b, tolerance));
  if (console.json()) {
    ordered_json list = ordered_json::array();
    for (const Difference& one : found) list.push_back({{"name", one.name}, {"what", one.what}});
    console.print(dump({{"schema_version", 1},
                        {"a", a.prefix()},
                        {"b", b.prefix()},
                        {"equal", found.empty()},
                        {"differences", list}}));
  } else {
    std::vector<std::vector<std::string>> rows = {{"tensor", "difference"}};
    for (const Difference& one : found) rows.push_back({one.name, one.what});
    if (!found.empty()) console.print(format_table(rows));
    console.note(str_cat(found.size(), " of ", a.entries().size(), " tensors differ"));
  }
  return found.empty() ? kDone : kFailed;
}

struct Options {
  std::string path, other, tensor;
  std::vector<std::string> paths;
  std::int64_t limit = 1000;
  double tolerance = 0;
};

}  // namespace

void define_ckpt(Command& program) {
  Command& ckpt = program.add("ckpt", "Look into checkpoints (TensorFlow's V2 format)");
  ckpt.example("argosy ckpt ls runs/a", "the checkpoints of a folder")
      .example("argosy ckpt ls runs/a/model.ckpt-200", "the tensors of one")
      .example("argosy ckpt verify runs/a", "read everything and compare checksums");

  Command& ls = ckpt.add("ls", "List the checkpoints of a folder, or the tensors of one checkpoint");
  auto& ls_options = ls.own<Options>();
  ls.argument("PATH", ls_options.path, "a folder, a prefix (runs/a/model.ckpt-200), or one of its files")
      .json()
      .example("argosy ckpt ls runs/a/model.ckpt-200", "names, dtypes, shapes and sizes")
      .runs([&ls_options](Console& console) {
        return is_directory(ls_options.path) ? list_folder(ls_options.path, console)
                                             : list_tensors(ls_options.path, console);
      });

  Command& cat_command = ckpt.add("cat", "Print the values of one tensor");
  auto& cat_options = cat_command.own<Options>();
  cat_command.argument("PATH", cat_options.path, "a prefix, or a folder: its newest checkpoint")
      .argument("TENSOR", cat_options.tensor, "its name")
      .option("--limit N", cat_options.limit, "values to print", {.least = 0})
      .json()
      .example("argosy ckpt cat runs/a global_step", "one value")
      .runs([&o = cat_options](Console& console) { return cat(o.path, o.tensor, o.limit, console); });

  Command& verify_command = ckpt.add("verify", "Read every byte and compare every checksum");
  auto& verify_options = verify_command.own<Options>();
  verify_command.argument("PATH", verify_options.paths, "prefixes, or folders: all checkpoints in them")
      .json()
      .example("argosy ckpt verify runs/a", "exit 6 if any is damaged, 3 if one is missing")
      .runs([&o = verify_options](Console& console) { return verify(o.paths, console); });

  Command& diff_command = ckpt.add("diff", "Compare two checkpoints, tensor by tensor");
  auto& diff_options = diff_command.own<Options>();
  diff_command.argument("A", diff_options.path, "a prefix, or a folder: its newest checkpoint")
      .argument("B", diff_options.other, "likewise")
      .option("--tolerance X", diff_options.tolerance, "numbers this close count as equal", {.least = 0})
      .json()
      .example("argosy ckpt diff runs/a runs/b --tolerance 1e-6", "exit 1 if they differ")
      .runs([&o = diff_options](Console& console) { return diff(o.path, o.other, o.tolerance, console); });
}

}  // namespace argosy::cli
