// lathe show MODEL: what it prints, and what it says of wrong words and files.
#include <filesystem>
#include <fstream>

#include "support/onnx_writer.h"
#include "unit/cli/in_process.h"

namespace lathe::cli {
namespace {

class Models : public Usage {
 protected:
  // relu(relu(x)) with `op` behind it.
  std::string model(const std::string& op) {
    const std::string path = folder_.at("model.onnx");
    std::ofstream(path, std::ios::binary)
        << test::model({{test::node("Relu", {"x"}, {"a"}), test::node("Relu", {"a"}, {"b"}),
                         test::node(op, {"b"}, {"y"})},
                        {},
                        {test::value_info("x", {"batch", "5"})},
                        {test::value_info("y", {"batch", "5"})}});
    return path;
  }
};

TEST_F(Models, AreShownWithTheirTasks) {
  const std::string path = model("Sigmoid");
  for (const std::string batch : {"1", "3", "7"}) {
    const std::string shape = "batch=" + batch;
    const std::string whole = lathe({"show", path.c_str(), "--shape", shape.c_str()}).out;
    EXPECT_TRUE(has(whole, "y: f32[" + batch + ",5] = Relu+Relu+Sigmoid(x: f32[" + batch + ",5])"))
        << whole;
    const std::string text =
        lathe({"show", path.c_str(), "--shape", shape.c_str(), "--after", "import"}).out;
    EXPECT_TRUE(has(text, "input   x: f32[" + batch + ",5]")) << text;
    EXPECT_TRUE(has(text, "3 nodes and 2 tasks")) << text;
    EXPECT_TRUE(has(text, "b: f32[" + batch + ",5] = Relu(a: f32[" + batch + ",5])")) << text;
    const std::string tasks =
        lathe({"show", path.c_str(), "--shape", shape.c_str(), "--what", "tasks"}).out;
    EXPECT_TRUE(has(whole, tasks.substr(tasks.find("count")))) << tasks;
    const std::string nodes =
        lathe({"show", path.c_str(), "--shape", shape.c_str(), "--what", "text"}).out;
    EXPECT_TRUE(has(nodes, "X: f32[" + batch + ",5]")) << nodes;
  }
}

TEST_F(Models, AreShownWithWhatIsOnRecord) {
  const std::string path = model("Sigmoid");
  const Outcome shown = lathe({"show", path.c_str(), "--shape", "batch=3", "--threads", "1"});
  EXPECT_EQ(shown.code, kDone) << shown.error;
  EXPECT_TRUE(has(shown.out, "\n0 of 1 task on record for cpu:")) << shown.out;
  EXPECT_TRUE(has(shown.out, " FLOP, recorded: none]")) << shown.out;
  EXPECT_TRUE(has(shown.out, "    recorded  task\n")) << shown.out;
  EXPECT_FALSE(has(shown.out, "floor")) << shown.out;
  EXPECT_FALSE(std::filesystem::exists(folder_.at("records.db"))) << "looking makes no database";
  // What is no database is told, and hides nothing silently.
  std::ofstream(folder_.at("letter.txt")) << "not a database, but long enough to be looked at";
  refused({"show", path.c_str(), "--shape", "batch=3", "--db", folder_.at("letter.txt").c_str()},
          kFailed, "not a Lathe database");
}

TEST_F(Models, WrongWordsAndFilesAreAnswered) {
  const std::string path = model("Sigmoid");
  refused({"show", path.c_str()}, kWrongUsage, "--shape batch=1");
  refused({"show", path.c_str(), "--shape", "batch=0"}, kWrongUsage, "is no size");
  refused({"show", path.c_str(), "--shape", "batch=1", "--what", "space"}, kWrongUsage,
          "of a model there are graph, tasks and text");
  refused({"show", path.c_str(), "--shape", "batch=1", "--dtype", "f16"}, kWrongUsage,
          "a model takes --shape and --max-error alone");
  refused({"show", "none.onnx"}, kFailed, "none.onnx");
  refused(
      {"show", path.c_str(), "--shape", "batch=1", "--after", "fusing"}, kWrongUsage,
      "there is no pass 'fusing'; there are import, fold, views, movements, concat, layout, fuse");
  refused({"show", "C6", "--after", "fuse"}, kWrongUsage, "only a model.onnx goes through passes");
  refused({"tune", path.c_str(), "--shape", "batch=1", "--trials", "0"}, kWrongUsage,
          "nothing is measured of a model with 0 trials");
  refused({"tune", path.c_str()}, kWrongUsage, "--shape batch=1");
  refused({"tune", path.c_str(), "--shape", "batch=1", "--cache", "cold"}, kWrongUsage,
          "nodes of a model find in the caches what others left");
  refused({"show", path.c_str(), "--shape", "batch=1", "--json"}, kWrongUsage,
          "a graph is shown as text");
  refused({"show", path.c_str(), "--shape", "batch=2,3"}, kWrongUsage,
          "'batch' names a dimension: give it one size");
  refused(
      {"compile", path.c_str(), "--shape", "batch=1", "--schedule", "default", "-o", path.c_str()},
      kWrongUsage, "the library would be written over the model");
  refused({"bench", path.c_str(), "--shape", "batch=1", "--serve"}, kWrongUsage,
          "this is for one workload");
  for (const char* command : {"bench", "show"})
    refused({command, "C6", "--floors"}, kWrongUsage, "these are of a model's nodes");
  refused({"show", path.c_str(), "--shape", "batch=1", "--floors", "--target", "cpu:cortex-a72"},
          kWrongUsage, "cortex-a72");
  refused({"race", path.c_str()}, kFailed, "which `lathe show`, `tune`, `bench`, `run` and");
  refused({"run", path.c_str(), "--shape", "batch=1", "--input", "q=q.npy"}, kWrongUsage,
          "q is no input of the model, which has x");
  const std::string unknown = model("Frobnicate");
  const Outcome listed = lathe({"show", unknown.c_str(), "--shape", "batch=1"});
  EXPECT_EQ(listed.code, kFailed);
  EXPECT_TRUE(listed.error.starts_with("lathe: ")) << listed.error;
  EXPECT_TRUE(has(listed.error, "1 x Frobnicate (opset 17): there is no such operator here"))
      << listed.error;
}

TEST_F(Models, TypesOfWeightsAreAskedForWithSense) {
  const std::string path = model("Sigmoid");
  refused({"show", path.c_str(), "--shape", "batch=1", "--weights-type", "f64"}, kWrongUsage,
          "--weights-type");
  refused({"show", path.c_str(), "--shape", "batch=1", "--weights-type", "f16"}, kWrongUsage,
          "the outputs may differ by 0.0001; allow more, as --max-error 1e-2");
  for (const char* command : {"show", "tune", "bench"})
    refused({command, "C6", "--weights-type", "bf16"}, kWrongUsage, "this is for a model.onnx");
  refused({"compile", "C6", "--weights-type", "f32", "-o", "net.so"}, kWrongUsage,
          "--dtype gives types of a workload's inputs");
  // A model without weights stays as it is.
  const Outcome shown = lathe(
      {"show", path.c_str(), "--shape", "batch=1", "--weights-type", "f16", "--max-error", "1e-2"});
  EXPECT_EQ(shown.code, kDone);
  EXPECT_EQ(shown.out, lathe({"show", path.c_str(), "--shape", "batch=1"}).out);
}

TEST_F(Models, WeightsAndMemoryAreAskedForWithSense) {
  const std::string path = model("Sigmoid"), library = folder_.at("net.so");
  const auto compiled = [&](std::vector<const char*> more, int code, const char* said) {
    std::vector<const char*> words = {"compile",    path.c_str(), "--shape", "batch=1",
                                      "--schedule", "default",    "-o",      library.c_str()};
    words.insert(words.end(), more.begin(), more.end());
    refused(words, code, said);
  };
  for (const char* size : {"", "100", "MB", "0MB", "1.5 GX", "nanMB", "infGB", "1e30GB", "1e"})
    compiled({"--max-memory", size}, kWrongUsage, "give a number and a unit, as 100MB or 1.5GiB");
  compiled({"--weights", "net.so"}, kWrongUsage, "would be written over");
  compiled({"--weights", "net.h"}, kWrongUsage, "would be written over");
  compiled({"--weights", "net_example.c"}, kWrongUsage, "would be written over");
  compiled({"--weights", "/net.weights"}, kWrongUsage, "looks for its weights in its own folder");
  compiled({"--weights", "a/"}, kWrongUsage, "this is no name of a file");
  std::filesystem::create_directory(folder_.at("taken"));
  compiled({"--weights", "taken"}, kWrongUsage, "is a folder; give another name");
  std::ofstream(folder_.at("theirs")) << "of another library";
  compiled({"--weights", "theirs"}, kWrongUsage, "is there already, and no weights of net.so");
  compiled({"--weights", "a*/b"}, kWrongUsage, "in its own folder");
  compiled({"--weights", "a*"}, kWrongUsage, "give another file name");
  compiled({"--weights", "model.onnx"}, kWrongUsage, "is there already, and no weights of net.so");
  compiled({"--weights", "w", "--target", "cpu:cortex-a72;isa=aarch64"}, kWrongUsage,
           "compile there, or leave out --weights");
  compiled({"--weights", "w", "--no-check"}, kWrongUsage, "the model has no weights");
  for (const char* flag : {"--weights", "--max-memory"})
    refused({"compile", "C6", "--schedule", "default", "-o", library.c_str(), flag, "9MB"},
            kWrongUsage, "this is for a model.onnx");
  EXPECT_FALSE(std::filesystem::exists(library));
}

}  // namespace
}  // namespace lathe::cli
