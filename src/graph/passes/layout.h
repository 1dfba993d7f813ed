#pragma once

#include "graph/ir/graph.h"

namespace lathe::graph {

// Values between convolutions lie channels last: [n,h,w,c] where the model has [n,c,h,w]. Vectors
// of channels then need no other elements, at the edges of an image either. What convolutions make
// is laid out so where all that touches it can follow, with what is computed of it element by
// element. Inputs and outputs of the model, what is seen in other shapes or joined, and what other
// nodes touch than those that leave channels apart stay as they are: a convolution or pooling reads
// one layout and makes another.
Status layout(Graph& graph);

}  // namespace lathe::graph
