// Expressions in which each element of the output depends on one element of each input.
#pragma once

#include "graph/import/site.h"

namespace lathe::graph {

// The shape that all of these values are seen in, by NumPy's rules.
Result<Shape> broadcast(const Site& site, const std::vector<int>& ids);
// The indices at which a value of `shape` is read for an element of `to`, whose iterators are i0,
// i1 ...: "i0,0,i2"; "0" of rank 0.
std::string read_indices(const Shape& shape, const Shape& to);
// Declares "NAME: f32[2,3]"; rank 0 becomes [1].
std::string declared(std::string_view name, Dtype dtype, const Shape& shape);
// "i0:2,i1:3"; "i0:1" of rank 0.
std::string iterators(const Shape& shape);
// The shape as expressions have it, where rank 0 is [1].
Shape at_least_1d(const Shape& shape);

// The formula has the inputs as {0}, {1} ...; f16 and bf16 are computed in f32. The result has the
// type `result`, by default that of the first input. A constant of one element stands in the
// formula as a number, where that cannot change its type.
Made element_wise(Site& site, const std::string& formula, const std::vector<int>& ids,
                  std::optional<Dtype> result = {});

// A number as the text form has it.
std::string number_text(double number);

// The value with its dimensions in another order; a view where nothing moves.
Made permuted(Site& site, int value, const std::vector<std::int64_t>& order);

// The product of the matrices that are the first two inputs, and the convolution of the first with
// the second as the attributes say, with a bias that is the third.
Made product_of_matrices(Site& site);
Made convolution_of(Site& site);

std::vector<Row> element_wise_rows();
std::vector<Row> shape_rows();
std::vector<Row> movement_rows();
std::vector<Row> lookup_rows();
std::vector<Row> window_rows();
std::vector<Row> product_rows();
std::vector<Row> reduction_rows();
std::vector<Row> norm_rows();
std::vector<Row> resize_rows();
std::vector<Row> quantized_rows();
std::vector<Row> loss_rows();
std::vector<Row> selection_rows();
std::vector<Row> recurrent_rows();
std::vector<Row> control_rows();
std::vector<Row> signal_rows();
std::vector<Row> sample_rows();

}  // namespace lathe::graph
