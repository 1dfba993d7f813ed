#include "runtime/device/opencl/program.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/file.h"
#include "unit/runtime/opencl.h"

namespace lathe::opencl {
namespace {

namespace fs = std::filesystem;

Facts small_device() {
  Facts facts;
  facts.name = "Small";
  facts.group_size = 64;
  facts.item_sizes = {64, 64, 4};
  facts.local_bytes = 1024;
  facts.allocation_bytes = 1000;
  facts.global_bytes = 2000;
  facts.extensions = {"cl_khr_fp64"};
  return facts;
}
std::string misfit(const std::function<void(Image&)>& change) {
  Image image = make_image(kSum);
  change(image);
  const Status status = check_fits(image, small_device());
  if (status) return "";
  EXPECT_EQ(status.error().kind, ErrorKind::kUnsupported);
  return status.error().message;
}

TEST(OpenclProgram, FitsOrSaysWhyNot) {
  EXPECT_EQ(misfit([](Image&) {}), "");
  EXPECT_EQ(misfit([](Image& i) { i.extensions = {"cl_khr_fp64"}; }), "");
  EXPECT_EQ(misfit([](Image& i) { i.extensions = {"cl_khr_fp16"}; }),
            "the program needs the extension cl_khr_fp16, which Small lacks");
  EXPECT_EQ(misfit([](Image& i) { i.local_bytes = 1025; }),
            "the program needs 1025 bytes of local memory, and Small has 1024");
  EXPECT_EQ(misfit([](Image& i) { i.run[0].items = {65, 1, 1}; }),
            "a group of f has 65 work items, and Small allows 64");
  EXPECT_EQ(misfit([](Image& i) { i.run[0].items = {1, 1, 8}; }),
            "a group of f has 8 work items along z, and Small allows 4");
  EXPECT_EQ(misfit([](Image& i) { i.run[0].groups = {INT64_MAX, 1, 1}; }),
            "the grid of f has too many work items along x");
  EXPECT_EQ(misfit([](Image& i) { i.run[0].items = {INT64_MAX, 2, 1}; }).substr(0, 10),
            "a group of");
  EXPECT_EQ(misfit([](Image& i) { i.scratch_bytes = 1001; }),
            "the program has a buffer of 1001 bytes, and Small allows 1000");
  EXPECT_EQ(misfit([](Image& i) { i.scratch_bytes = 900; }),
            "the program's buffers have more bytes together than the 2000 of Small");
}

TEST_F(OpenclTest, ABuildErrorIsOneSentence) {
  const BinaryCache cache(folder_.at("cache"));
  const auto program = Program::build(*device_, make_image("__kernel void f( { }"), cache);
  ASSERT_FALSE(program);
  const Error& error = program.error();
  EXPECT_EQ(error.kind, ErrorKind::kBuild);
  EXPECT_TRUE(error.message.starts_with("OpenCL's compiler refuses the program: "));
  EXPECT_TRUE(error.message.contains("error")) << error.message;
  EXPECT_FALSE(error.message.contains('\n')) << error.message;
  EXPECT_TRUE(error.message.contains(folder_.at("cache/last-build.log"))) << error.message;
  EXPECT_TRUE(read_file(folder_.at("cache/last-build.log")));
  EXPECT_EQ(Program::build(*device_, make_image("x y"), {}).error().kind, ErrorKind::kBuild);
}

TEST_F(OpenclTest, ALaunchThatIsNotTheKernelsIsRefused) {
  const BinaryCache none;
  EXPECT_TRUE(Program::build(*device_, make_image(kSum, "g"), none)
                  .error()
                  .message.contains("has no kernel g"));
  Image image = make_image(kSum);
  image.run[0].arguments.pop_back();
  EXPECT_EQ(Program::build(*device_, image, none).error().message,
            "the kernel f takes 3 arguments, and its launch has 2");
  image = make_image(kSum);
  image.run[0].items = {2 * device_->facts().group_size, 1, 1};
  EXPECT_EQ(Program::build(*device_, image, none).error().kind, ErrorKind::kUnsupported);
  image = make_image(kSum);
  image.extensions = {"cl_khr_that_nobody_has"};
  EXPECT_TRUE(Program::build(*device_, image, none)
                  .error()
                  .message.contains("needs the extension cl_khr_that_nobody_has"));
  image = make_image(kSum);
  image.local_bytes = device_->facts().local_bytes + 1;
  EXPECT_TRUE(Program::build(*device_, image, none).error().message.contains("local memory"));
}

// The one file of a folder that is a built program.
fs::path file_in(const std::string& folder) {
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".bin") return entry.path();
  return {};
}

TEST_F(OpenclTest, ABuiltProgramIsTakenFromTheCache) {
  const std::string folder = folder_.at("cache");
  const BinaryCache cache(folder);
  const auto from_cache = [&](const Image& image) {
    const auto program = Program::build(*device_, image, cache);
    EXPECT_TRUE(program) << program.error().text();
    return program && (*program)->from_cache();
  };
  const Image image = make_image(kSum);
  EXPECT_FALSE(from_cache(image));
  EXPECT_TRUE(from_cache(image));
  EXPECT_EQ(fs::status(folder).permissions(), fs::perms::owner_all);
  Image other = image;
  other.options += " -cl-mad-enable";
  EXPECT_FALSE(from_cache(other)) << "other options";
  fs::remove_all(folder);
  const BinaryCache again(folder);
  again.store("some other key", "nonsense");
  EXPECT_FALSE(again.find(device_->facts().text()));
}

TEST_F(OpenclTest, ADamagedOrForeignEntryOfTheCacheIsBuiltAnew) {
  const std::string folder = folder_.at("cache");
  const BinaryCache cache(folder);
  const Image image = make_image(kSum);
  const auto build = [&] {
    auto program = Program::build(*device_, image, cache);
    EXPECT_TRUE(program) << program.error().text();
    return (*program)->from_cache();
  };
  build();
  const std::string path = file_in(folder).string();
  const std::string good = *read_file(path);
  for (const std::size_t at : {std::size_t{0}, std::size_t{20}, good.size() / 2, good.size() - 1}) {
    std::string bad = good;
    bad[at] ^= 1;
    ASSERT_TRUE(write_whole(path, bad));
    EXPECT_FALSE(build()) << at;
    EXPECT_TRUE(build()) << "it was written anew";
  }
  ASSERT_TRUE(write_whole(path, good.substr(0, good.size() / 2)));
  EXPECT_FALSE(build());
  // What is whole for us may be nonsense for the driver.
  const std::string key = device_->facts().text() + '\0' + image.options + '\0' + image.source;
  cache.store(key, "no program of this driver");
  EXPECT_FALSE(build());
  EXPECT_TRUE(build());
  fs::permissions(path, fs::perms(0666));
  EXPECT_FALSE(build()) << "others can change it";
}

TEST_F(OpenclTest, WithoutAPrivateFolderNothingIsKept) {
  const std::string shared = folder_.at("shared");
  fs::create_directory(shared);
  fs::permissions(shared, fs::perms::all);
  const BinaryCache cache(shared);
  EXPECT_EQ(cache.path_of("key"), "");
  cache.store("key", "binary");
  EXPECT_FALSE(cache.find("key"));
  EXPECT_TRUE(Program::build(*device_, make_image(kSum), cache));
  EXPECT_TRUE(fs::is_empty(shared));
}

}  // namespace
}  // namespace lathe::opencl
