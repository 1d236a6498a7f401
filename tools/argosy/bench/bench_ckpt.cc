// Checkpoints beside what the disk and the memory can do, interleaved: saved durably beside a plain write and fsync of
// the same bytes, restored from the page cache beside a plain read of them.
#include "tools/argosy/bench/bench_ckpt.h"

#include <unistd.h>

#include <filesystem>

#include "argosy/base/system/file.h"
#include "argosy/formats/checkpoint/checkpoint.h"
#include "argosy/formats/checkpoint/saver.h"
#include "benchmarks/measure.h"
#include "tools/argosy/bench/bench.h"
#include "tools/argosy/cli/console.h"

namespace argosy::cli {

namespace {

using benchmark::Times;

struct Options {
  std::string folder;
  std::int64_t mebibytes = 1024, tensors = 64, rounds = 3;
};

template <typename Work>
Status timed(Times& times, Work&& work) {
  const std::int64_t start = now_nanos();
  ARGOSY_RETURN_IF_ERROR(work());
  times.add(seconds_since(start));
  return ok_status();
}

Status raw_read(const std::string& folder, std::span<const tf::NamedTensor> tensors) {
  ARGOSY_ASSIGN_OR_RETURN(const File file, File::open(join_path(folder, "raw")));
  std::int64_t offset = 0;
  for (const auto& t : tensors) {
    ARGOSY_RETURN_IF_ERROR(file.read_at(offset, t.tensor.raw(), t.tensor.bytes()));
    offset += static_cast<std::int64_t>(t.tensor.bytes());
  }
  return ok_status();
}

struct Measured {
  Times write, save, read, into, fresh, verify, snapshot, background;
};

Status one_round(const std::string& folder, std::int64_t round, std::vector<tf::NamedTensor>& model, tf::Saver& saver,
                 Measured& times) {
  std::vector<std::string> names;
  for (const auto& t : model) names.push_back(t.name);
  // A checkpoint of its own each time: replacing one would add the removal of the old data.
  const std::string prefix = join_path(folder, str_cat("ckpt-", round));
  ARGOSY_RETURN_IF_ERROR(timed(times.write, [&] { return raw_write(folder, model); }));
  ARGOSY_RETURN_IF_ERROR(timed(times.save, [&] { return tf::write_checkpoint(prefix, model); }));
  ARGOSY_RETURN_IF_ERROR(timed(times.read, [&] { return raw_read(folder, model); }));
  ARGOSY_RETURN_IF_ERROR(timed(times.into, [&]() -> Status {
    ARGOSY_ASSIGN_OR_RETURN(const auto reader, tf::CheckpointReader::open(prefix));
    return reader.read_into(model);
  }));
  ARGOSY_RETURN_IF_ERROR(timed(times.fresh, [&]() -> Status {
    ARGOSY_ASSIGN_OR_RETURN(const auto reader, tf::CheckpointReader::open(prefix));
    return reader.read(names).status();
  }));
  ARGOSY_RETURN_IF_ERROR(timed(times.verify, [&]() -> Status {
    ARGOSY_ASSIGN_OR_RETURN(const auto reader, tf::CheckpointReader::open(prefix));
    return reader.verify();
  }));
  ARGOSY_RETURN_IF_ERROR(timed(times.background, [&]() -> Status {
    ARGOSY_RETURN_IF_ERROR(timed(times.snapshot, [&] { return saver.save_async(round, model); }));
    return saver.wait();
  }));
  ARGOSY_RETURN_IF_ERROR(remove_file(tf::index_path(prefix)));
  ARGOSY_RETURN_IF_ERROR(remove_file(tf::data_path(prefix, 0, 1)));
  return remove_file(join_path(folder, "raw"));
}

Result<BenchResult> measure(const Options& options, Console&) {
  const std::string folder = checkpoint_folder(options.folder);
  ARGOSY_RETURN_IF_ERROR(make_directories(folder));
  std::vector<tf::NamedTensor> model;
  const std::int64_t elements = (options.mebibytes << 20) / options.tensors / 4;
  for (std::int64_t i = 0; i < options.tensors; ++i) {
    model.push_back({str_cat("layer_", 1000 + i, "/weights"), Tensor::zeros(DType::kFloat32, {elements})});
    auto* values = model.back().tensor.data<float>();
    for (std::int64_t k = 0; k < elements; ++k) values[k] = static_cast<float>(k * (i + 1) % 1009);
  }
  Measured times;
  const std::string saved = join_path(folder, "saver");
  {
    ARGOSY_ASSIGN_OR_RETURN(auto saver, tf::Saver::open({.directory = saved, .max_to_keep = 1}));
    for (std::int64_t round = 0; round < options.rounds; ++round) {
      ARGOSY_RETURN_IF_ERROR(one_round(folder, round, model, *saver, times));
    }
  }
  std::error_code ignored;  // what is left behind is the measurement's litter, not its result
  std::filesystem::remove_all(options.folder.empty() ? folder : saved, ignored);

  const double gigabytes = static_cast<double>(elements * 4 * options.tensors) * 1e-9;
  BenchResult result{.benchmark = "ckpt"};
  const auto add = [&](const char* name, const Times& t, const Times* limit) {
    BenchRow row{name, "GB/s", gigabytes / t.min(), gigabytes / t.median()};
    if (limit != nullptr) row.limit = gigabytes / limit->min();
    result.rows.push_back(std::move(row));
  };
  add("durable save", times.save, &times.write);
  add("restore", times.into, &times.read);
  add("restore into new tensors", times.fresh, &times.read);
  add("verify", times.verify, &times.read);
  add("snapshot for a save in the background", times.snapshot, nullptr);
  add("save in the background, verified", times.background, &times.write);
  result.notes.push_back(str_cat(gigabytes, " GB in ", options.tensors, " tensors under ", folder,
                                 "; limits: one thread writes and fsyncs, or reads what is cached"));
  return result;
}

}  // namespace

std::string checkpoint_folder(const std::string& asked) {
  std::error_code none;  // then the folder is made here
  return asked.empty()
             ? join_path(std::filesystem::temp_directory_path(none).string(), str_cat("argosy_bench_ckpt_", getpid()))
             : asked;
}

Status raw_write(const std::string& folder, std::span<const tf::NamedTensor> tensors) {
  constexpr std::size_t kPiece = 8 << 20;
  const std::string path = join_path(folder, "raw");
  ARGOSY_ASSIGN_OR_RETURN(File file, File::create(path + ".tmp"));
  for (const auto& t : tensors) {
    for (std::size_t at = 0; at < t.tensor.bytes(); at += kPiece) {
      const std::size_t n = std::min(kPiece, t.tensor.bytes() - at);
      ARGOSY_RETURN_IF_ERROR(file.write({t.tensor.raw_as<const char>() + at, n}));
    }
  }
  ARGOSY_RETURN_IF_ERROR(file.sync());
  ARGOSY_RETURN_IF_ERROR(file.close());
  ARGOSY_RETURN_IF_ERROR(rename_file(path + ".tmp", path));
  return sync_directory(folder);
}

void add_bench_ckpt(Command& bench) {
  Options* options = nullptr;
  add_benchmark(bench, "ckpt", "Checkpoints beside a raw write and a raw read", options, measure)
      .option("--dir DIR", options->folder, "where to write; default: a temporary folder, removed afterwards")
      .option("--mib N", options->mebibytes, "size of the checkpoint", {.least = 1, .most = 1 << 20})
      .option("--tensors N", options->tensors, "that it is cut into", {.least = 1, .most = 100000})
      .option("--rounds N", options->rounds, "of each", {.least = 1, .most = 1000})
      .example("argosy bench ckpt --dir DIR", "on the disk your checkpoints will be on");
}

}  // namespace argosy::cli
