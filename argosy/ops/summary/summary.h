// Summary ops: their values are serialised Summary messages for TensorBoard, to be fetched and written to an event
// file.
#pragma once

#include <string_view>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

Value scalar_summary(std::string_view tag, Value scalar);               // one number
Value histogram_summary(std::string_view tag, Value values);            // a histogram of the values
Value image_summary(std::string_view tag, Value images, int most = 3);  // [n,height,width,1|3|4], uint8 or floats
Value audio_summary(std::string_view tag, Value sounds, Value sample_rate, int most = 3);  // [n,frames(,channels)]
Value merge_summaries(const std::vector<Value>& summaries);  // one summary with the values of all

}  // namespace argosy
