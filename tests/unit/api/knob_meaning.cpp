// Every knob of a space is explained, in the command and in the document.
#include "tuner/space/knob_meaning.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "api/targets.h"
#include "api/workload.h"
#include "tuner/space/space.h"

namespace lathe::api {
namespace {

using space::knob_meaning;

// Of workloads and targets that together have every knob.
std::set<std::string> known_knobs() {
  const WorkloadRequest requests[] = {
      {.text = "C6"},
      {.text = "matmul-1024"},
      {.text = "batch_matmul", .flags = {{"batch", "3"}, {"m", "33"}, {"n", "65"}, {"k", "40"}}},
      {.text = "conv2d",
       .flags = {{"input", "1,64,14,14"}, {"weight", "64,16,3,3"}, {"groups", "4"}}},
      {.text = "Y[i:31,j:65] = exp(A[i,j]) + B[j]"},
      {.text = "S[i:31] = sum(j:1009) A[i,j]"},
      {.text = "A: f32[9,30,300]; T[z,y,x] = A[z,y,x] + A[z+1,y,x] * A[z,y+1,x]\n"
               "Y[z,y,x] = sum(q:3,r:3,s:3) T[z+q,y+r,x+s]"}};
  std::set<std::string> names;
  for (WorkloadRequest request : requests)
    for (const char* layout : {"plain", "free"})
      for (const int threads : {1, 2})
        for (const auto flavour : {space::Flavour::kDefault, space::Flavour::kWide}) {
          request.layout = layout;
          const auto workload = make_workload(request);
          EXPECT_TRUE(workload) << request.text << workload.error().text();
          const auto space = space::derive_space(te::canonical(workload->definition),
                                                 *make_target("cpu:znver5", threads), flavour);
          EXPECT_TRUE(space) << request.text;
          for (const auto& knob : (*space)->knob_list()) names.insert(knob.name);
        }
  return names;
}

TEST(KnobMeaning, OfEveryKnob) {
  std::ifstream file(LATHE_READING_DOC);
  const std::string document((std::istreambuf_iterator<char>(file)), {});
  const auto names = known_knobs();
  EXPECT_GE(names.size(), 14U);
  for (const std::string& name : names) {
    EXPECT_FALSE(knob_meaning(name).empty()) << name;
    EXPECT_NE(document.find("`" + name + "`"), std::string::npos) << name;
  }
  EXPECT_EQ(knob_meaning("tile.q"), "");
  EXPECT_EQ(knob_meaning("H.tile.q"), "");
}

TEST(KnobMeaning, TellsWhoseKnobItIs) {
  EXPECT_EQ(knob_meaning("again.H.tile.v"), "H.tile.v, where algebra.kept is again");
  EXPECT_EQ(knob_meaning("matrix.tile.v"), knob_meaning("tile.v"));
  EXPECT_EQ(knob_meaning("H.tile.v"), "tile.v of the stage that computes H");
  EXPECT_EQ(knob_meaning("H.lanes.pack.input"), "pack.input of the stage that computes H.lanes");
  EXPECT_EQ(knob_meaning("rows.block.k"), "block.k, where rows go together");
  EXPECT_EQ(knob_meaning("rows.H.order"),
            "order of the stage that computes H, where rows go together");
  EXPECT_EQ(knob_meaning("matrix.H.tile.p0"),
            "tile.p0 of the stage that computes H, where operands are matrices");
  EXPECT_EQ(knob_meaning("H.rows"), "rows of the group of stages that ends with H");
}

}  // namespace
}  // namespace lathe::api
