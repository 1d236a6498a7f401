#include <sys/stat.h>
#include <unistd.h>

#include <charconv>

#include "tools/argosy/launch/streams.h"

namespace argosy::cli {

namespace {

bool are_one_file(int a, int b) {
  struct stat of_a {
  }, of_b{};
  return ::fstat(a, &of_a) == 0 && ::fstat(b, &of_b) == 0 && of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
}

std::string folder(const std::string& directory, int rank) { return join_path(directory, str_cat("task-", rank)); }

}  // namespace

Result<StreamChoice> StreamChoice::parse(std::string_view flag, std::string_view text) {
  StreamChoice choice;
  const auto wrong = [&] {
    return invalid_argument(flag, ": \"", text,
                            "\" does not say which streams: 0, 1 (stdout), 2 (stderr), 3, or by task 0:1,1:3")
        .with_id("ARG-USAGE")
        .with_where("argosy launch")
        .with_hint(str_cat(flag, " 3"));
  };
  const auto number = [](std::string_view digits, int most) {
    int value = -1;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return error == std::errc() && end == digits.data() + digits.size() && value <= most ? value : -1;
  };
  if (text.empty()) return choice;
  if (text.find(':') == std::string_view::npos) {
    choice.all = number(text, 3);
    if (choice.all < 0) return wrong();
    return choice;
  }
  for (const std::string& part : str_split(text, ',')) {
    const std::size_t colon = part.find(':');
    if (colon == std::string::npos) return wrong();
    const int rank = number(std::string_view(part).substr(0, colon), 1 << 20);
    const int streams = number(std::string_view(part).substr(colon + 1), 3);
    if (rank < 0 || streams < 0) return wrong();
    choice.of_task[rank] = streams;
  }
  return choice;
}

int StreamChoice::of(int rank) const {
  const auto at = of_task.find(rank);
  return at != of_task.end() ? at->second : all;
}

Streams::Streams() : out_(std::make_shared<ConsoleOutput>(STDOUT_FILENO)), err_(out_) {
  if (!are_one_file(STDOUT_FILENO, STDERR_FILENO)) err_ = std::make_shared<ConsoleOutput>(STDERR_FILENO);
}

Result<std::unique_ptr<Streams>> Streams::open(const StreamOptions& options, const std::vector<int>& ranks,
                                               int lowest) {
  auto streams = std::make_unique<Streams>();
  streams->options_ = options;
  streams->lowest_ = lowest;
  streams->several_ = ranks.size() > 1;
  for (const int rank : ranks) {
    Files& files = streams->files_[rank];
    if (options.directory.empty()) continue;
    const std::string own = folder(options.directory, rank);
    ARGOSY_RETURN_IF_ERROR(make_directories(own));
    ARGOSY_RETURN_IF_ERROR(remove_file(join_path(own, "error.json")));
    ARGOSY_ASSIGN_OR_RETURN(File out, File::create(join_path(own, "stdout")));
    ARGOSY_ASSIGN_OR_RETURN(File err, File::create(join_path(own, "stderr")));
    files.out = std::make_unique<File>(std::move(out));
    files.err = std::make_unique<File>(std::move(err));
  }
  return streams;
}

void Streams::write(int rank, bool is_error, std::string_view bytes) {
  Files& files = files_[rank];
  const int stream = is_error ? 2 : 1;
  std::unique_ptr<File>& file = is_error ? files.err : files.out;
  if (file != nullptr) {
    if (const Status written = file->write(bytes); !written.ok()) {  // a full disk does not end the job
      not_kept(rank, written);
      files.failed |= stream;
      file.reset();
    }
  }
  if ((options_.redirects.of(rank) & stream & ~files.failed) != 0) return;
  if (rank == lowest_ && !is_error) return out_->write(bytes);
  show(rank, is_error ? files.err_line : files.out_line, bytes);
}

void Streams::not_kept(int rank, const Status& error) {
  err_->write(str_cat("argosy launch: output of task ", rank, " is not kept: ", error.message(),
                      "; from here on it goes to the console only\n"));
}

// Whole lines, so that those of several tasks do not mix.
void Streams::show(int rank, std::string& line, std::string_view bytes) {
  const std::string label = several_ && options_.labels ? str_cat("[", rank, "] ") : std::string();
  std::string text;
  for (const char c : bytes) {
    line += c;
    if (c != '\n' && c != '\r' && line.size() < 4096) continue;
    text += label + line;
    line.clear();
  }
  err_->write(text);
}

void Streams::give_up_unread(ConsoleOutput::Time asked, std::chrono::milliseconds patience) {
  const auto now = std::chrono::steady_clock::now();
  for (const auto& [console, name] : {std::pair(out_, "output"), std::pair(err_, "error")}) {
    if (now - console->unread_since(asked) < patience) continue;
    console->give_up();
    err_->write(str_cat("argosy launch: nobody reads its standard ", name, ": the rest of it is lost\n"));
  }
}

void Streams::end(const TaskOutcome& outcome) {
  Files& files = files_[outcome.rank];
  for (std::string* const line : {&files.out_line, &files.err_line}) {
    if (!line->empty()) show(outcome.rank, *line, "\n");
  }
  if (options_.directory.empty() || !outcome.failed()) return;
  auto file = File::create(join_path(folder(options_.directory, outcome.rank), "error.json"));
  const auto handler = nlohmann::ordered_json::error_handler_t::replace;
  const Status written =
      file.ok() ? file->write(outcome_json(outcome).dump(2, ' ', false, handler) + "\n") : file.status();
  if (!written.ok()) {
    err_->write(str_cat("argosy launch: the error of task ", outcome.rank, " is not kept: ", written.message(), "\n"));
  }
}

}  // namespace argosy::cli
