// Parts that image classifiers share. Private to models/.
#pragma once

#include "argosy/train/models/models.h"

namespace argosy::models {

Value image_input(Layers& net, const ClassifierOptions& options);
// Adds the labels, the mean cross-entropy as the loss, and the accuracy.
Model classify(Layers& net, Value logits);

}  // namespace argosy::models
