// Text in aligned columns, as every listing of the program prints it.
#pragma once

#include <string>
#include <vector>

namespace argosy::cli {

// Rows of cells, two spaces between columns; columns whose cells are all numbers (with a unit, perhaps) align right.
// The first row is the heading. No trailing blanks.
std::string format_table(const std::vector<std::vector<std::string>>& rows);

}  // namespace argosy::cli
