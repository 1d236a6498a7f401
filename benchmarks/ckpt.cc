// Checkpoints against what the disk and the memory can do, interleaved in one run: 1 GiB in 64 tensors (or as told)
// saved durably against a plain write and fsync of the same bytes, and restored from the page cache against a plain
// read. Prints the median of the rounds, the spread and the ratio.
//   bench_ckpt [FOLDER [MIB [TENSORS [ROUNDS]]]]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "argosy/base/clock.h"
#include "argosy/base/file.h"
#include "argosy/base/parallel.h"
#include "argosy/tf/checkpoint.h"
#include "argosy/tf/saver.h"

namespace {

using namespace argosy;

struct Row {
  const char* name;
  std::vector<double> seconds = {};

  double median() const {
    std::vector<double> s = seconds;
    std::sort(s.begin(), s.end());
    return s[s.size() / 2];
  }
};

template <typename Work>
Status timed(Row& row, Work&& work) {
  const std::int64_t start = now_nanos();
  ARGOSY_RETURN_IF_ERROR(work());
  row.seconds.push_back(seconds_since(start));
  return ok_status();
}

// What everybody would write: one file, one thread, 8 MiB at a time, fsync, rename, fsync of the folder.
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

Status raw_read(const std::string& folder, std::span<const tf::NamedTensor> tensors) {
  ARGOSY_ASSIGN_OR_RETURN(const File file, File::open(join_path(folder, "raw")));
  std::int64_t offset = 0;
  for (const auto& t : tensors) {
    ARGOSY_RETURN_IF_ERROR(file.read_at(offset, t.tensor.raw(), t.tensor.bytes()));
    offset += static_cast<std::int64_t>(t.tensor.bytes());
  }
  return ok_status();
}

Status run(const std::string& folder, std::int64_t mib, int tensors, int rounds) {
  ARGOSY_RETURN_IF_ERROR(make_directories(folder));
  std::vector<tf::NamedTensor> model;
  std::vector<std::string> names;
  const std::int64_t elements = (mib << 20) / tensors / 4;
  for (int i = 0; i < tensors; ++i) {
    model.push_back({str_cat("layer_", 1000 + i, "/weights"), Tensor::zeros(DType::kFloat32, {elements})});
    names.push_back(model.back().name);
    auto* values = model.back().tensor.data<float>();
    for (std::int64_t k = 0; k < elements; ++k) values[k] = static_cast<float>(k * (i + 1) % 1009);
  }
  const double gigabytes = static_cast<double>(elements) * 4 * tensors * 1e-9;
  const std::string prefix = join_path(folder, "ckpt");

  Row write{"raw write + fsync"}, save{"durable save"}, read{"raw read, warm, one thread"};
  Row into{"restore into tensors"}, fresh{"restore into new tensors"}, verify{"verify"};
  Row snapshot{"snapshot for an asynchronous save"}, async_save{"asynchronous save, verified"};
  ARGOSY_ASSIGN_OR_RETURN(auto saver, tf::Saver::open({.directory = join_path(folder, "saver"), .max_to_keep = 1}));
  for (int round = 0; round < rounds; ++round) {
    ARGOSY_RETURN_IF_ERROR(timed(write, [&] { return raw_write(folder, model); }));
    // A checkpoint of its own each time: replacing one would add the removal of the old data.
    const std::string each = str_cat(prefix, "-", round);
    ARGOSY_RETURN_IF_ERROR(timed(save, [&] { return tf::write_checkpoint(each, model); }));
    ARGOSY_RETURN_IF_ERROR(timed(read, [&] { return raw_read(folder, model); }));
    ARGOSY_RETURN_IF_ERROR(timed(into, [&]() -> Status {
      ARGOSY_ASSIGN_OR_RETURN(const auto reader, tf::CheckpointReader::open(each));
      return reader.read_into(model);
    }));
    ARGOSY_RETURN_IF_ERROR(timed(fresh, [&]() -> Status {
      ARGOSY_ASSIGN_OR_RETURN(const auto reader, tf::CheckpointReader::open(each));
      return reader.read(names).status();
    }));
    ARGOSY_RETURN_IF_ERROR(timed(verify, [&]() -> Status {
      ARGOSY_ASSIGN_OR_RETURN(const auto reader, tf::CheckpointReader::open(each));
      return reader.verify();
    }));
    ARGOSY_RETURN_IF_ERROR(timed(async_save, [&]() -> Status {
      ARGOSY_RETURN_IF_ERROR(timed(snapshot, [&] { return saver->save_async(round, model); }));
      return saver->wait();
    }));
    ARGOSY_RETURN_IF_ERROR(remove_file(tf::index_path(each)));
    ARGOSY_RETURN_IF_ERROR(remove_file(tf::data_path(each, 0, 1)));
    ARGOSY_RETURN_IF_ERROR(remove_file(join_path(folder, "raw")));
  }
  std::printf("%.3f GB in %d tensors, %d rounds, %d cores, %s\n", gigabytes, tensors, rounds, available_cores(),
              folder.c_str());
  for (const Row* row : {&write, &save, &read, &into, &fresh, &verify, &snapshot, &async_save}) {
    const auto [least, most] = std::minmax_element(row->seconds.begin(), row->seconds.end());
    std::printf("%-36s %7.2f GB/s   (%.2f .. %.2f)\n", row->name, gigabytes / row->median(), gigabytes / *most,
                gigabytes / *least);
  }
  std::printf("durable save / raw write + fsync: %.2f   (wanted: 0.85)\n", write.median() / save.median());
  std::printf("restore: %.1f GB/s   (wanted: 8), %.2f of a raw read\n", gigabytes / into.median(),
              read.median() / into.median());
  return ok_status();
}

}  // namespace

int main(int argc, char** argv) {
  const auto number = [&](int i, int otherwise) { return argc > i ? std::max(1, std::atoi(argv[i])) : otherwise; };
  const Status status = run(argc > 1 ? argv[1] : "bench_ckpt_data", number(2, 1024), number(3, 64), number(4, 5));
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.to_string().c_str());
  return status.ok() ? 0 : 1;
}
