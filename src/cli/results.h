// Results as text and as JSON.
#pragma once

#include <cstdint>
#include <string>

#include "api/prediction.h"
#include "api/tuning.h"
#include "api/workload.h"
#include "base/json.h"
#include "base/time_text.h"
#include "compiler/schedule/step.h"

namespace lathe::cli {

std::string rate_text(double flops, double seconds);  // "198.2 GFLOP/s"
// What moves between program and memory: "12.0 GB/s, 40 % of the 30 GB/s ..."; with the share only
// where the bandwidth is known.
std::string traffic_text(const api::Traffic& traffic, double seconds);
// "50 % of the measured peak of 400 GFLOP/s", by the operations that must be done. `flops` is as
// papers count.
std::string peak_text(const api::Traffic& traffic, double flops, double seconds, double peak_flops);
double peak_share(const api::Traffic& traffic, double flops, double seconds, double peak_flops);
// A larger share means that the machine was disturbed while its peak was measured.
inline constexpr double kMostShare = 1.01;
// Adds bytes a second and their share, beside the member "gflops".
void add_traffic(Json& json, const api::Traffic& traffic, double seconds);
// What remains open after a race on a disturbed machine; empty if there was none.
// "CPU 26/2/1", or "device PoCL/..." where the target is one: what a record was measured on.
std::string machine_text(const std::string& target, const std::string& cpu);
std::string race_note(const store::Record& record);
std::string counted(std::int64_t count, const std::string& noun);  // "1 trial", "12 trials"

// For a replay, leaves out all that another run of the same command would tell differently.
Json to_json(const api::Tuned& tuned);
std::string text_of(const api::Tuned& tuned);
// For a run without trials: the same members, except for times.
Json to_json(const api::Predicted& predicted);
std::string text_of(const api::Predicted& predicted);

// Gives each tensor, under the name that the expression and an exported header use, its name in
// "workload" and "trace", which are the records': {"X": "A", "W": "B"}.
Json tensor_names(const te::Workload& workload);

// A text of a database or a file, which may be anybody's, without what a terminal takes for
// commands: "?" stands for each control character but the end of a line and a tabulator.
std::string printable(std::string text);
// A configuration in a line: "order=VPK.pv tile.v=2"
std::string schedule_text(const Json& config);
// "F(4x4)" of a trace with a Cook-Toom algorithm; else `written`, the algorithm of the expression.
std::string algorithm_text(const std::string& written, const schedule::Trace& trace);
// A record as `best` and `trials` show it.
double believed_seconds(const store::Record& record);  // the race's, if there was one
Json short_json(const store::Record& record, double flops);

}  // namespace lathe::cli
