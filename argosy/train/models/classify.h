// What image classifiers share. Private to models/.
#pragma once

#include "argosy/train/models/models.h"

namespace argosy::models {

Value image_input(Layers& net, const ClassifierOptions& options);
// Labels, the mean cross-entropy, the accuracy.
Model classify(Layers& net, Value logits);

}  // namespace argosy::models
