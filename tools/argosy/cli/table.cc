#include "tools/argosy/cli/table.h"

#include <algorithm>
#include <cctype>

namespace argosy::cli {

namespace {

// Letters outside ASCII take one column, however many bytes they have.
std::size_t columns(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

// A number, with a unit or a remark of two words at most: "4.0 GiB". A sentence that begins with one is text.
bool is_number(const std::string& cell) {
  if (cell.empty() || cell == "-") return true;
  return std::isdigit(static_cast<unsigned char>(cell.front())) != 0 && std::count(cell.begin(), cell.end(), ' ') <= 2;
}

}  // namespace

std::string format_table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> width;
  std::vector<bool> right;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t c = 0; c < rows[r].size(); ++c) {
      if (c == width.size()) {
        width.push_back(0);
        right.push_back(rows.size() > 1);
      }
      width[c] = std::max(width[c], columns(rows[r][c]));
      if (r > 0) right[c] = right[c] && is_number(rows[r][c]);
    }
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string pad(width[c] - columns(row[c]), ' ');
      line += (c > 0 ? "  " : "") + (right[c] ? pad + row[c] : row[c] + pad);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace argosy::cli
