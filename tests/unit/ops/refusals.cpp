// What wrong parameters are answered.
#include "unit/ops/evaluated.h"

namespace lathe::ops {
namespace {

struct Wrong {
  const char* op;
  Arguments arguments;
  const char* says;  // a part of the message
};

void expect_refusals(const std::vector<Wrong>& all) {
  for (const Wrong& w : all)
    EXPECT_NE(refusal(w.op, w.arguments).find(w.says), std::string::npos)
        << w.op << ": " << refusal(w.op, w.arguments) << "\nlacks " << w.says;
}

Arguments with(Arguments arguments, const Arguments& more) {
  for (const auto& [name, value] : more) arguments[name] = value;
  return arguments;
}

TEST(Refusals, Convolutions) {
  const Arguments one = {{"input", "1,2,5"}, {"weight", "4,2,3"}},
                  three = {{"input", "1,2,5,5,5"}, {"weight", "4,2,3,3,3"}};
  expect_refusals({
      {"conv1d", with(one, {{"input", "1,2,5,5"}}), "--input: 3 dimensions are needed"},
      {"conv1d", with(one, {{"weight", "4,2,7"}}), "reaches over 7 elements along x"},
      {"conv1d", with(one, {{"stride", "1,2"}}), "--stride: one value is needed, 2 are given"},
      {"conv1d", with(one, {{"dilation", "0"}}), "--dilation: at least 1"},
      {"conv1d", with(one, {{"pad", "1,2,3"}}), "--pad: 1 value or 2 (left,right) are needed, 3"},
      {"conv1d", with(one, {{"groups", "3"}}), "--groups: the 4 output channels"},
      {"conv3d", with(three, {{"weight", "4,2,3,3"}}), "--weight: 5 dimensions are needed"},
      {"conv3d", with(three, {{"weight", "4,1,3,3,3"}}), "takes 1 in each of 1 groups"},
      {"conv3d", with(three, {{"stride", "1,2"}}),
       "one value or 3 (z,y,x) are needed, 2 are given"},
      {"conv3d", with(three, {{"pad", "1,2"}}),
       "1 value, 3 (z,y,x) or 6 (front,top,left,back,bottom,right) are needed, 2 are given"},
      {"conv3d", with(three, {{"dilation", "3"}}), "reaches over 7 elements along z"},
  });
}

TEST(Refusals, TransposedConvolutions) {
  const Arguments good = {{"input", "1,4,5,5"}, {"weight", "4,3,3,3"}, {"stride", "2"}};
  EXPECT_EQ(refusal("conv_transpose2d", good), "");
  expect_refusals({
      {"conv_transpose2d", with(good, {{"weight", "3,4,3,3"}}), "its order is c,o/groups"},
      {"conv_transpose2d", with(good, {{"weight", "4,3,3"}}), "--weight: 4 dimensions are needed"},
      {"conv_transpose2d", with(good, {{"groups", "3"}}), "4 input channels do not divide into 3"},
      {"conv_transpose2d", with(good, {{"groups", "0"}}), "--groups: at least 1"},
      {"conv_transpose2d", with(good, {{"output-padding", "2"}}),
       "--output-padding: 2 is not less than the stride 2 along y"},
      {"conv_transpose2d", with(good, {{"pad", "6"}}),
       "nothing is left along y: 11 outputs without padding, 12 less"},
      {"conv_transpose2d", with(good, {{"pad", "1,1,1"}}),
       "1 value, 2 (y,x) or 4 (top,left,bottom,right) are needed, 3 are given"},
      {"conv_transpose2d", with(good, {{"dilation", "0"}}), "--dilation: at least 1"},
      {"conv_transpose2d", with(good, {{"dilation", "3"}, {"output-padding", "3"}}),
       "3 is not less than the stride 2 or the dilation 3 along y"},
      {"conv_transpose3d", good, "--input: 5 dimensions are needed"},
      {"conv_transpose2d", with(good, {{"stride", "0"}}), "--stride: at least 1"},
      {"conv_transpose1d", good, "--input: 3 dimensions are needed"},
  });
}

TEST(Refusals, Pooling) {
  const Arguments good = {{"input", "1,2,5,5"}, {"kernel", "3"}};
  expect_refusals({
      {"max_pool2d", {{"input", "1,2,5"}, {"kernel", "3"}}, "--input: 4 dimensions are needed"},
      {"max_pool2d", with(good, {{"kernel", "7"}}), "reaches over 7 elements along y"},
      {"max_pool2d", with(good, {{"kernel", "0"}}), "--kernel: at least 1"},
      {"max_pool2d", with(good, {{"pad", "0,3"}}),
       "--pad: window 0 along x lies wholly outside the input, whose 5 elements have 3 before and "
       "3 after; give less padding"},
      {"max_pool2d", with(good, {{"pad", "0,0,0,6"}}), "window 2 along x lies wholly outside"},
      {"max_pool2d", with(good, {{"pad", "0,0,0"}}), "are needed, 3 are given"},
      // The taps of the first window step over the only element.
      {"max_pool1d",
       {{"input", "1,1,1"}, {"kernel", "2"}, {"dilation", "2"}, {"pad", "1"}},
       "window 0 along x lies wholly outside"},
      {"max_pool1d",
       {{"input", "1,1,2"}, {"kernel", "4"}, {"stride", "2"}, {"ceil-mode", ""}},
       "--kernel: the window reaches over 4"},
      {"max_pool3d", good, "--input: 5 dimensions are needed"},
      {"avg_pool1d", good, "--input: 3 dimensions are needed"},
      {"max_pool2d", with(good, {{"stride", "0"}}), "--stride: at least 1"},
      {"max_pool2d", with(good, {{"pad", "1"}, {"dtype", "i64"}}),
       "--pad: i64 has no number below"},
      {"max_pool2d", with(good, {{"stride", "3"}, {"ceil-mode", ""}, {"dtype", "i64"}}),
       "--ceil-mode: i64 has no number below"},
      {"avg_pool2d", with(good, {{"dtype", "i8"}}), "--dtype: 'i8' is no floating-point type"},
      {"avg_pool2d", with(good, {{"dilation", "2"}}), "has no such parameter"},
      {"global_avg_pool", {{"input", "3,4"}}, "3 dimensions or more are needed, [3,4] has 2"},
      {"global_avg_pool", {{"input", "3,4,5"}, {"dtype", "u8"}}, "no floating-point type"},
  });
}

TEST(Refusals, Rows) {
  for (const char* op : {"softmax", "log_softmax", "logsumexp", "layer_norm", "rms_norm"})
    expect_refusals({
        {op,
         {{"input", "3,4"}, {"axes", "2"}},
         "--axes: [3,4] has no dimension 2; give one from 0 "
         "to 1, or from -2 to -1"},
        {op, {{"input", "3,4"}, {"axes", "-3"}}, "has no dimension -3"},
        {op, {{"input", "3,4"}, {"axes", "1,-1"}}, "--axes: dimension 1 is there twice"},
        {op, {{"input", "3,4"}, {"axes", "last"}}, "--axes: 'last' is no whole number"},
        {op, {{"input", "3,4"}, {"dtype", "i32"}}, "--dtype: 'i32' is no floating-point type"},
        {op, {{"input", "3,0"}}, "--input: 0 is outside the possible range"},
    });
  expect_refusals({
      {"layer_norm", {{"input", "3,4"}, {"eps", "small"}}, "--eps: 'small' is no number"},
      {"layer_norm", {{"input", "3,4"}, {"eps", "-1"}}, "--eps: 0 or more is needed, not -1"},
      {"rms_norm", {{"input", "3,4"}, {"no-shift", ""}}, "rms_norm has no such parameter"},
      {"rms_norm", {{"input", "3,4"}, {"no-scale", "1"}}, "'1' is neither true nor false"},
      {"batch_norm", {{"input", "3"}}, "--axis: [3] has no dimension 1"},
      {"batch_norm",
       {{"input", "3,4,5"}, {"axis", "1,2"}},
       "--axis: the dimension of the channels"},
      {"group_norm", {{"input", "3"}, {"groups", "1"}}, "2 dimensions or more are needed"},
      {"group_norm", {{"input", "1,6,3"}, {"groups", "4"}}, "6 channels do not divide into 4"},
      {"group_norm", {{"input", "1,6,3"}, {"groups", "0"}}, "--groups: at least 1"},
      {"group_norm", {{"input", "1,6,3"}}, "--groups: group_norm needs it"},
  });
}

TEST(Refusals, Attention) {
  const Arguments good = {{"heads", "2"}, {"tokens", "5"}, {"width", "4"}};
  EXPECT_EQ(refusal("attention", with(good, {{"kv-tokens", "tokens"}})), "");
  expect_refusals({
      {"attention", with(good, {{"heads", "0"}}), "--heads: at least 1"},
      {"attention", with(good, {{"tokens", "0"}}), "--tokens: at least 1"},
      {"attention", with(good, {{"width", "0"}}), "--width: at least 1"},
      {"attention", with(good, {{"kv-tokens", "0"}}), "--kv-tokens: at least 1"},
      {"attention", with(good, {{"kv-heads", "0"}}), "--kv-heads: at least 1"},
      {"attention", with(good, {{"kv-heads", "4"}}),
       "--kv-heads: the 2 heads of Q do not divide among 4"},
      {"attention", with(good, {{"kv-tokens", "many"}}), "'many' is no whole number"},
      {"attention", with(good, {{"scale", "inf"}}), "--scale: 'inf' is no number"},
      {"attention", with(good, {{"dtype", "i8"}}), "no floating-point type"},
  });
}

TEST(Refusals, ReductionsAndMaps) {
  expect_refusals({
      {"reduce", {{"input", "3,4"}}, "--op: '' is no reduction; known are sum, prod, max, min"},
      {"reduce", {{"input", "3,4"}, {"op", "median"}}, "'median' is no reduction"},
      {"reduce", {{"input", "3,4"}, {"op", "sum"}, {"axes", "0,0"}}, "dimension 0 is there twice"},
      {"reduce", {{"input", "3,4"}, {"op", "sum"}, {"axes", "5"}}, "[3,4] has no dimension 5"},
      {"reduce", {{"input", "3,4"}, {"op", "mean"}, {"dtype", "i32"}}, "no floating-point type"},
      {"reduce", {{"input", "3,4"}, {"op", "sum"}, {"dtype", "bool"}}, "no numeric element type"},
      {"argmax", {{"input", "3,4"}, {"axes", "2"}}, "[3,4] has no dimension 2"},
      {"argmin", {{"input", "3,4"}, {"op", "sum"}}, "argmin has no such parameter"},
      {"transpose", {{"input", "3,4"}, {"order", "0"}}, "each dimension of [3,4] is needed once"},
      {"transpose", {{"input", "3,4"}, {"order", "1,1"}}, "from 0 to 1, not 1,1"},
      {"transpose", {{"input", "3,4"}, {"order", "1,2"}}, "from 0 to 1, not 1,2"},
      {"map", {{"input", "3,4"}, {"function", "swish"}}, "'swish' is no function; known are relu"},
      {"map", {{"input", "3,4"}}, "--function: '' is no function"},
      {"map", {{"input", "3,4"}, {"function", "exp"}, {"dtype", "u8"}}, "no floating-point type"},
  });
}

TEST(Refusals, Resize) {
  const Arguments x = {{"input", "1,2,5,5"}, {"size", "7"}};
  EXPECT_EQ(refusal("resize", x), "");
  expect_refusals({
      {"resize", with(x, {{"input", "5,5"}}), "--input: 3 to 5 dimensions are needed"},
      {"resize", with(x, {{"size", "1,2,3"}}), "--size: one value or 2 (y,x) are needed, 3"},
      {"resize", with(x, {{"size", "0"}}), "--size: at least 1"},
      {"resize", {{"input", "1,2,5,5"}}, "--size: either the size or --scales"},
      {"resize", with(x, {{"scales", "2"}}), "and not both"},
      {"resize", {{"input", "1,2,5,5"}, {"scales", "0.1"}}, "--scales: '0.1' makes no 1 to"},
      {"resize", {{"input", "1,2,5,5"}, {"scales", "1,x"}}, "--scales: 'x' makes no 1 to"},
      {"resize", {{"input", "1,2,5,5"}, {"scales", "1,2,3"}}, "--scales: one value or 2 (y,x)"},
      {"resize", with(x, {{"size", "40000"}}), "40000 elements along y are too many for tables"},
      {"resize", with(x, {{"mode", "area"}}), "--mode: 'area' is none of nearest, linear, cubic"},
      {"resize", with(x, {{"coordinates", "half"}}), "--coordinates: 'half' is none of half-pixel"},
      {"resize", with(x, {{"rounding", "up"}}), "--rounding: 'up' is none of"},
      {"resize", with(x, {{"dtype", "u8"}}), "--dtype: 'u8' is no floating-point type"},
      {"resize", with(x, {{"crop", "0,1"}}), "--crop: --coordinates tf-crop-and-resize needs it"},
      {"resize", with(x, {{"coordinates", "tf-crop-and-resize"}}), "--crop: --coordinates tf-crop"},
      {"resize", with(x, {{"coordinates", "tf-crop-and-resize"}, {"crop", "0,1"}}),
       "--crop: 4 values are needed, the beginnings and the ends; 2 are given"},
      {"resize", with(x, {{"coordinates", "tf-crop-and-resize"}, {"crop", "0,0,1,all"}}),
       "--crop: 'all' is no part of an axis"},
  });
}

TEST(Refusals, Lookups) {
  const Arguments x = {{"input", "3,4"}, {"indices", "5"}},
                  e = {{"input", "3,4"}, {"indices", "3,2"}},
                  t = {{"table", "9,4"}, {"indices", "2,3"}};
  expect_refusals({
      {"gather", {{"input", "3,4"}}, "--indices: gather needs it"},
      {"gather", with(x, {{"axis", "2"}}), "--axis: [3,4] has no dimension 2"},
      {"gather", with(x, {{"axis", "0,1"}}), "--axis: one dimension is needed, 2 are given"},
      {"gather", with(x, {{"indices", "0"}}), "--indices: 0 is outside"},
      {"gather", with(x, {{"outside", "raise"}}),
       "--outside: 'raise' is none of promised, negative, clip"},
      {"gather", with(x, {{"index-dtype", "f32"}}), "--index-dtype: 'f32' is no type of whole"},
      {"gather", with(x, {{"value", "1"}}), "--value: only --outside fill reads it"},
      {"gather", with(x, {{"outside", "fill"}, {"value", "0.5"}, {"dtype", "i8"}}), "--value: "},
      {"gather_elements", with(e, {{"indices", "5"}}), "--indices: [5] is larger than the input"},
      {"gather_elements", with(e, {{"axis", "0"}, {"indices", "3,5"}}), "only dimension 0 may"},
      {"gather_nd", with(e, {{"indices", "2,3"}}),
       "--indices: the last dimension has 3 coordinates"},
      {"gather_nd", with(e, {{"batch-dims", "2"}}),
       "--batch-dims: [3,4] and [3,2] have no 2 common"},
      {"gather_nd", with(e, {{"indices", "2,1"}, {"batch-dims", "1"}}),
       "differ in their first 1 dimensions"},
      {"scatter_elements", with(e, {{"indices", "5"}}), "--indices: [5] is larger than the input"},
      {"scatter_elements", with(e, {{"op", "sum"}}), "--op: 'sum' is none of update, add, mul"},
      {"scatter_elements", with(e, {{"outside", "fill"}}), "--outside: 'fill' is none of promised"},
      {"scatter_elements", with(e, {{"value", "1"}}), "--value: scatter_elements has no such"},
      {"scatter_elements", with(e, {{"op", "add"}, {"dtype", "bool"}}), "no numeric element type"},
      {"scatter_nd", with(e, {{"indices", "2,3"}}),
       "--indices: the last dimension has 3 coordinates for each place, the input [3,4] has 2"},
      {"embedding", with(t, {{"table", "9"}}), "--table: 2 dimensions are needed"},
      {"embedding", with(t, {{"bag", "min"}}), "--bag: 'min' is nothing that rows come to"},
      {"embedding", with(t, {{"bag", "mean"}, {"dtype", "i8"}}), "--dtype: a mean needs"},
  });
}

TEST(Refusals, Chosen) {
  const Arguments x = {{"input", "3,4"}, {"k", "2"}};
  EXPECT_EQ(refusal("top_k", x), "");
  expect_refusals({
      {"top_k", {{"input", "3,4"}}, "--k: top_k needs it"},
      {"top_k", with(x, {{"k", "5"}}), "--k: 5 elements are asked for; dimension 1 of [3,4] has 4"},
      {"top_k", with(x, {{"k", "4"}, {"axis", "0"}}), "dimension 0 of [3,4] has 3"},
      {"top_k", with(x, {{"k", "0"}}), "--k: at least 1"},
      {"top_k", with(x, {{"axis", "2"}}), "--axis: [3,4] has no dimension 2"},
      {"top_k", with(x, {{"axis", "0,1"}}), "--axis: one dimension is needed, 2 are given"},
      {"top_k", with(x, {{"dtype", "bool"}}), "no numeric element type"},
  });
}

TEST(Refusals, GridSample) {
  const Arguments x = {{"input", "1,2,5,5"}, {"grid", "1,3,4,2"}};
  EXPECT_EQ(refusal("grid_sample", x), "");
  expect_refusals({
      {"grid_sample", with(x, {{"input", "2,5,5"}}), "--input: 4 or 5 dimensions are needed"},
      {"grid_sample", with(x, {{"grid", "1,3,4,3"}}), "--grid: [n,h,w,2] is needed"},
      {"grid_sample", with(x, {{"grid", "2,3,4,2"}}), "--grid: [n,h,w,2] is needed"},
      {"grid_sample", with(x, {{"grid", "1,3,2"}}), "2 coordinates for each element; [1,3,2]"},
      {"grid_sample", with(x, {{"input", "1,2,5,5,5"}, {"grid", "1,3,4,5,3"}, {"mode", "cubic"}}),
       "--mode: cubic is for images of two axes"},
      {"grid_sample", with(x, {{"mode", "bilinear"}}), "--mode: 'bilinear' is none of linear"},
      {"grid_sample", with(x, {{"around", "edge"}}), "--around: 'edge' is none of zeros, border"},
      {"grid_sample", with(x, {{"dtype", "u8"}}), "--dtype: 'u8' is no floating-point type"},
  });
}

TEST(Refusals, Pieces) {
  const Arguments x = {{"input", "3,4"}};
  expect_refusals({
      {"pad", x, "--pad: pad needs it"},
      {"pad", with(x, {{"pad", "1,2,3"}}),
       "one value, 2 (one for each dimension of [3,4]) or 4 (all at the beginnings, then all at "
       "the ends) are needed, 3 are given"},
      {"pad", with(x, {{"pad", "-2,0"}}), "nothing is left of the 3 elements along dimension 0"},
      {"pad", with(x, {{"pad", "1"}, {"value", "nan"}}), "'nan' is no number"},
      {"pad", with(x, {{"pad", "1"}, {"value", "0.5"}, {"dtype", "i8"}}), "--value: "},
      {"pad", with(x, {{"pad", "1"}, {"value", "inf"}, {"dtype", "i8"}}), "'inf' is no number"},
      {"pad", with(x, {{"pad", "1"}, {"value", "300"}, {"dtype", "u8"}}), "--value: "},
      {"pad", with(x, {{"pad", "1"}, {"mode", "mirror"}}),
       "--mode: 'mirror' is none of constant, edge, reflect, symmetric, wrap"},
      {"pad", with(x, {{"pad", "3,0"}, {"mode", "reflect"}}),
       "--pad: dimension 0 has 3 elements, of which reflect puts at most 2 beyond an end, and 3"},
      {"pad", with(x, {{"pad", "0,0,0,5"}, {"mode", "symmetric"}}), "symmetric puts at most 4"},
      {"pad", with(x, {{"pad", "-2,0,5,0"}, {"mode", "reflect"}}), "dimension 0 has 1 elements"},
      {"pad", with(x, {{"pad", "-3,0,5,0"}, {"mode", "edge"}}), "nothing is left of the 3"},
      {"pad", with(x, {{"pad", "1"}, {"mode", "edge"}, {"value", "2"}}), "only --mode constant"},
      {"slice", with(x, {{"step", "0"}}), "--step: a step of 0 leads nowhere"},
      {"slice", with(x, {{"begin", "1,2,3"}}), "--begin: one value, or one for each of the 2"},
      {"slice", with(x, {{"begin", "3"}}), "--begin: the slice of dimension 0 of [3,4] is empty"},
      {"slice", with(x, {{"end", "0"}}), "--end: the slice of dimension 0 of [3,4] is empty"},
      {"slice", with(x, {{"axes", "2"}}), "[3,4] has no dimension 2"},
      {"slice", with(x, {{"axes", "1,-1"}}), "dimension 1 is there twice"},
      {"concat", {}, "--inputs: '' is no whole number; write the shapes as '2,3,4;2,5,4'"},
      {"concat", {{"inputs", "2,3;2,x"}}, "'x' is no whole number"},
      {"concat", {{"inputs", "2,3;3,3"}, {"axis", "1"}}, "differ in more than dimension 1"},
      {"concat", {{"inputs", "2,3;2,3,1"}}, "[2,3] and [2,3,1] differ in more than dimension 0"},
      {"concat", {{"inputs", "2,3;2,3"}, {"axis", "2"}}, "--axis: [2,3] has no dimension 2"},
      {"concat", {{"inputs", "2,3;2,3"}, {"axis", "0,1"}}, "one dimension is needed, 2 are given"},
      {"one_hot", x, "--depth: one_hot needs it"},
      {"one_hot", with(x, {{"depth", "0"}}), "--depth: at least 1"},
      {"one_hot", with(x, {{"depth", "3"}, {"dtype", "bool"}}), "no numeric element type"},
      {"pad", with(x, {{"pad", "1"}, {"dtype", "bool"}, {"value", "0.5"}}), "none of 0 and 1"},
      {"one_hot", with(x, {{"depth", "3"}, {"axis", "3"}}), "[3,4,3] has no dimension 3"},
      {"one_hot", with(x, {{"depth", "3"}, {"index-dtype", "f32"}}), "no type of whole numbers"},
  });
}

TEST(Refusals, CellsAndRotations) {
  const Arguments cell = {{"batch", "2"}, {"input-size", "3"}, {"hidden-size", "4"}};
  for (const char* op : {"lstm_cell", "gru_cell"})
    expect_refusals({
        {op, with(cell, {{"batch", "0"}}), "--batch: at least 1"},
        {op, with(cell, {{"input-size", "0"}}), "--input-size: at least 1"},
        {op, with(cell, {{"hidden-size", "x"}}), "--hidden-size: 'x' is no whole number"},
        {op, with(cell, {{"dtype", "i8"}}), "no floating-point type"},
    });
  const Arguments rope = {{"heads", "2"}, {"tokens", "3"}, {"width", "4"}};
  expect_refusals({
      {"rope", with(rope, {{"width", "5"}}), "--width: pairs of elements are turned, and 5 is odd"},
      {"rope", with(rope, {{"heads", "0"}}), "--heads: at least 1"},
      {"rope", with(rope, {{"dtype", "i32"}}), "no floating-point type"},
  });
}

TEST(Refusals, Einsum) {
  const auto einsum = [](const char* subscripts, const char* sizes) {
    return Arguments{{"subscripts", subscripts}, {"sizes", sizes}};
  };
  expect_refusals({
      {"einsum", einsum("", "a=2"), "--subscripts: einsum needs it"},
      {"einsum", einsum("ab,bc->ad", "a=2,b=2,c=2"),
       "the output has 'd', but no operand has; leave it out there"},
      {"einsum", einsum("ab,bc->aca", "a=2,b=2,c=2"), "the output has 'a' twice"},
      {"einsum", einsum("ab,,bc->ac", "a=2,b=2,c=2"), "an operand has no letters"},
      {"einsum", einsum("...a,a->a", "a=2"), "'.' is no letter"},
      {"einsum", einsum("ab->a->b", "a=2,b=2"), "'-' is no letter"},
      {"einsum", einsum("ab->a", "a=2"), "--sizes: the size of 'b' is needed; add b=SIZE"},
      {"einsum", einsum("ab->a", ""), "--sizes: '' is no size of a letter; write for example a=32"},
      {"einsum", einsum("ab->a", "a=2,b=2,c=3"), "no operand has the letter 'c'"},
      {"einsum", einsum("ab->a", "a=2,b=2,a=3"), "'a' is there twice"},
      {"einsum", einsum("ab->a", "a=2,b=0"), "--sizes: 0 is outside"},
      {"einsum", einsum("ab->a", "a=2,b=x"), "--sizes: 'x' is no whole number"},
      {"einsum",
       einsum("abcdefghijklmnopq->a",
              "a=1,b=1,c=1,d=1,e=1,f=1,g=1,h=1,i=1,j=1,k=1,l=1,m=1,n=1,o=1,p=1,q=1"),
       "einsum: in1 has 17 dimensions; from 1 to 16 are possible"},
  });
}

TEST(Refusals, TooLargeTensorsAreNoOverflow) {
  const std::string large = "2147483648,2147483648,2147483648";
  for (const char* op : {"softmax", "logsumexp", "layer_norm", "rms_norm"})
    expect_refusals({{op, {{"input", large}, {"axes", "0,1,2"}}, "2^40"}});
  expect_refusals({
      {"batch_norm", {{"input", large}}, "2^40"},
      {"group_norm", {{"input", large}, {"groups", "2"}}, "2^40"},
      {"global_avg_pool", {{"input", "1," + large}}, "2^40"},
      {"reduce", {{"input", large}, {"op", "argmax"}}, "2^40"},
      {"conv_transpose1d",
       {{"input", "1,1,2147483648"}, {"weight", "1,1,3"}, {"stride", "2147483648"}},
       "2^40"},
  });
}

}  // namespace
}  // namespace lathe::ops
