// Libraries whose constants lie in a file beside them: found, shared, and refused where it is not
// the right one.
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "compiler/codegen/package/package.h"
#include "compiler/codegen/package/weights_hash.h"
#include "compiler/sequence/apart.h"
#include "runtime/artifact/weights.h"
#include "support/temporary_folder.h"
#include "unit/package/exported.h"
#include "unit/package/packed_program.h"

namespace lathe::package {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kSize = 4099;

// lathe_NAME_create_from.
using CreateFrom = int (*)(const char*, const lathe_parallel*, lathe_handle**);

class WeightsBeside : public ::testing::Test {
 protected:
  std::string at(const std::string& name) const { return folder_.at(name); }

  // Writes FOLDER/net.so and net.weights of a program of so many elements.
  void write(const std::string& folder, std::int64_t size = kSize) const {
    fs::create_directories(at(folder));
    const Target t = target("cpu:host");
    const auto apart = sequence::apart(packed_program(t, size));
    ASSERT_TRUE(apart) << apart.error().text();
    ASSERT_TRUE(flat::verify(apart->run));
    ASSERT_TRUE(flat::verify(apart->make));
    std::vector<std::byte> constants(static_cast<std::size_t>(apart->run.constant_bytes));
    for (std::int64_t i = 0; i < size; ++i) {
      const float packed = 2 * weight_at(i);  // as prepare makes it, from byte 64 on
      std::memcpy(constants.data() + 64 + 4 * i, &packed, sizeof packed);
    }
    apart->copy_into(constants);
    const Weights weights{"net.weights", constants};
    const auto written = write_artifact("net", apart->run, t, codegen::llvm_backend(),
                                        at(folder + "/net.so"), {}, nullptr, &weights);
    ASSERT_TRUE(written) << written.error().text();
  }
  void expect_works(const std::string& path) const {
    const Library library(path, "net");
    lathe_handle* handle = nullptr;
    ASSERT_EQ(library.create(nullptr, &handle), LATHE_OK) << library.message(nullptr);
    expect_packed(library, handle, kSize);
    library.destroy(handle);
  }
  // A new handle is refused with these words, and those for the file.
  void expect_refused(const std::string& path, const std::string& words,
                      const std::string& file = "net.weights") const {
    const Library library(path, "net");
    lathe_handle* handle = nullptr;
    ASSERT_EQ(library.create(nullptr, &handle), LATHE_NO_WEIGHTS) << words;
    EXPECT_EQ(handle, nullptr);
    const std::string said = library.message(nullptr);
    EXPECT_NE(said.find(words), std::string::npos) << said;
    EXPECT_NE(said.find(file), std::string::npos) << said;
  }
  std::string content(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(at(name), std::ios::binary).rdbuf();
    return text.str();
  }
  void put(const std::string& name, const std::string& bytes) const {
    std::ofstream(at(name), std::ios::binary) << bytes;
  }

  const test::TemporaryFolder folder_;
};

TEST_F(WeightsBeside, TheLibraryIsSmallAndMovesWithThem) {
  write("a");
  EXPECT_EQ(fs::file_size(at("a/net.weights")), 4096U + 16512 + 16448);
  expect_works(at("a/net.so"));
  fs::rename(at("a"), at("b"));
  expect_works(at("b/net.so"));
  // A link to the library alone, and links to both.
  fs::create_directories(at("links"));
  fs::create_symlink(at("b/net.so"), at("links/net.so"));
  expect_works(at("links/net.so"));
  fs::create_directories(at("stored"));
  fs::rename(at("b/net.so"), at("stored/1"));
  fs::rename(at("b/net.weights"), at("stored/2"));
  fs::create_symlink(at("stored/1"), at("b/net.so"));
  fs::create_symlink(at("stored/2"), at("b/net.weights"));
  expect_works(at("b/net.so"));
}

TEST_F(WeightsBeside, AreFoundFromAnotherWorkingDirectory) {
  write("a");
  const fs::path before = fs::current_path();
  fs::current_path(at("a"));
  const auto library = std::make_unique<Library>("./net.so", "net");
  fs::current_path("/");
  lathe_handle* handle = nullptr;
  EXPECT_EQ(library->create(nullptr, &handle), LATHE_OK) << library->message(nullptr);
  fs::current_path(before);
  expect_packed(*library, handle, kSize);
  library->destroy(handle);
}

TEST_F(WeightsBeside, WrongFilesAreRefusedWithAWayOut) {
  write("a");
  const std::string whole = content("a/net.weights"), so = at("a/net.so"),
                    file = at("a/net.weights");
  fs::remove(file);
  expect_refused(so, "are not there: put the file that lathe compile wrote beside the library");
  for (const std::size_t size : {0UL, 15UL, 31UL}) {
    put("a/net.weights", whole.substr(0, size));
    expect_refused(so, "are no file of weights");
  }
  for (const std::size_t size : {32UL, 4096UL, whole.size() - 1}) {
    put("a/net.weights", whole.substr(0, size));
    expect_refused(so, "are cut off or damaged");
  }
  put("a/net.weights", whole + "x");
  expect_refused(so, "are cut off or damaged");
  std::string foreign = whole;
  foreign[0] = 'L';
  put("a/net.weights", foreign);
  expect_refused(so, "are no file of weights");
  write("b", kSize + 1);
  fs::copy_file(at("b/net.weights"), file, fs::copy_options::overwrite_existing);
  expect_refused(so, "belong to another library");
  std::string stale = whole;
  stale[24] = static_cast<char>(stale[24] ^ 1);  // of the hash
  put("a/net.weights", stale);
  expect_refused(so, "belong to another library");
  fs::remove(file);
  fs::create_directory(file);
  expect_refused(so, "are no file of weights");
  fs::remove(file);
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);  // is not waited for
  expect_refused(so, "are no file of weights");
  fs::remove(file);
  put("a/net.weights", whole);
  if (geteuid() != 0) {
    fs::permissions(file, fs::perms::none);
    expect_refused(so, "cannot be read");
    fs::permissions(file, fs::perms::owner_read);
  }
  expect_works(so);
}

TEST_F(WeightsBeside, LongPathsAreToldByTheirEnd) {
  const std::string folder(200, 'd');
  write(folder);
  fs::remove(at(folder + "/net.weights"));
  expect_refused(at(folder + "/net.so"), "lathe compile wrote beside the library",
                 std::string(20, 'd') + "/net.weights");
}

TEST_F(WeightsBeside, MayBeNamedAndAreSharedByHandles) {
  write("a");
  fs::create_directories(at("elsewhere"));
  fs::rename(at("a/net.weights"), at("elsewhere/w"));
  const Library library(at("a/net.so"), "net");
  CreateFrom create_from = nullptr;
  library.find(create_from, "lathe_net_create_from");
  lathe_handle *handle = nullptr, *other = nullptr;
  EXPECT_EQ(create_from(at("nowhere").c_str(), nullptr, &handle), LATHE_NO_WEIGHTS);
  EXPECT_EQ(create_from(nullptr, nullptr, &handle), LATHE_NO_WEIGHTS);
  ASSERT_EQ(create_from(at("elsewhere/w").c_str(), nullptr, &handle), LATHE_OK)
      << library.message(nullptr);
  fs::remove(at("elsewhere/w"));
  ASSERT_EQ(library.create(nullptr, &other), LATHE_OK);  // they are mapped
  library.destroy(handle);
  expect_packed(library, other, kSize);
  library.destroy(other);
  EXPECT_EQ(library.create(nullptr, &other), LATHE_NO_WEIGHTS);
}

TEST_F(WeightsBeside, ServeThreadsThatCreateAndDestroyAtOnce) {
  write("a");
  const Library library(at("a/net.so"), "net");
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&] {
      for (int r = 0; r < 100; ++r) {
        lathe_handle* handle = nullptr;
        ASSERT_EQ(library.create(nullptr, &handle), LATHE_OK);
        expect_packed(library, handle, kSize);
        library.destroy(handle);
      }
    });
  for (auto& thread : threads) thread.join();
}

// Each byte counts, and so do places and the number of zeros.
TEST(WeightsHash, DiffersWhereBytesDo) {
  std::set<std::uint64_t> seen;
  std::size_t texts = 0;
  const auto add = [&](const std::vector<std::byte>& bytes) {
    seen.insert(weights_hash(bytes));
    ++texts;
  };
  for (const std::size_t size : {0U, 1U, 63U, 64U, 65U, 127U, 128U, 131U, 1000U}) {
    std::vector<std::byte> bytes(size);
    add(bytes);
    for (std::size_t at = 0; at < size; ++at)
      for (const int bit : {0, 7}) {
        bytes[at] ^= std::byte(1 << bit);
        add(bytes);
        // The same bit a block later does not take it back.
        if (at + 64 < size) {
          bytes[at + 64] ^= std::byte(1 << bit);
          add(bytes);
          bytes[at + 64] ^= std::byte(1 << bit);
        }
        bytes[at] ^= std::byte(1 << bit);
      }
  }
  EXPECT_EQ(seen.size(), texts);
}

}  // namespace
}  // namespace lathe::package
