// Tells which runs the figures want, of the recordings that there are.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "research/experiment/arms.h"
#include "research/paper/figures.h"
#include "research/recorded/recording.h"
#include "tuner/model/target_class.h"

namespace lathe::paper {

struct SpaceFile {
  std::string hash;  // of the file's bytes
  recorded::Recording recording;
};
// Reads all *.json.zst of a folder and of the folders in it, in order of path. Fails if there are
// none.
Result<std::vector<SpaceFile>> spaces_in(const std::string& folder);

struct Settings {
  int seeds = 20;
  int treegru_seeds = 5;  // 0: it is left out
  int trials = 800;
  int rows_a_source = 1000;  // configurations of each source that a global model learns from
};

// A search on a space, for some seeds.
struct Cell {
  const SpaceFile* space = nullptr;
  std::vector<const SpaceFile*> sources;  // empty: the arm does not transfer
  experiment::Arm arm;
  std::string label;
  int seeds = 0;
  // The hash of what else decides the curve: options, sources, versions of search and features.
  std::string settings;
  // False: the library that trains its model is not here. Rows from elsewhere count all the same.
  bool can_run = true;
};
struct Panel {
  std::string title;
  const SpaceFile* space = nullptr;
  std::vector<Cell> cells;
};
// The panels of one setting; its claims are judged over all of them.
struct PanelSet {
  Setting setting;
  std::vector<Panel> panels;
};
struct Sheet {
  Figure figure;
  std::vector<PanelSet> sets;
  std::vector<std::string> left_out;  // sentences: what is missing, and what would bring it
  std::string cannot_run;             // why some cells cannot run here; empty: all can
};
// The class of targets that most recordings are of. Figures search on these; recordings of others
// serve to learn from beforehand.
model::TargetClass usual_target(const std::vector<SpaceFile>& spaces);
// `spaces` must outlive it.
Result<Sheet> sheet_for(const Figure& figure, const std::vector<SpaceFile>& spaces,
                        const Settings& settings);

}  // namespace lathe::paper
