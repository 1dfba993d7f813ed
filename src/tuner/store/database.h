// A thin owner of SQLite handles, with errors as sentences a user can act on. Internal to this
// room.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace lathe::store {

class Statement;

class Database {
 public:
  // Creates the file if there is none, and the user's data folder. A file that this user may not
  // write is opened for reading, and nothing is made beside it.
  static Result<Database> open(const std::string& path, double busy_seconds);

  Status exec(const char* sql);
  Result<Statement> prepare(std::string_view sql);
  Result<std::int64_t> integer(std::string_view sql);  // first column of the first row
  std::int64_t last_id() const;
  // Reads the whole file and fails if it is damaged.
  Status check();
  // What the last failure means for the user. `code` is SQLite's extended result code.
  std::unexpected<Error> error(int code) const;
  const std::string& path() const { return path_; }
  bool read_only() const;
  // True if the file that was opened is no longer there under its name, because it was removed or
  // replaced by another.
  bool gone() const;
  // A name that is the same whatever path leads to the file; empty: it is in memory.
  std::string file_name() const;
  // Copies all that it holds to a new file.
  Status copy_to(const std::string& path);

 private:
  struct Close {
    void operator()(sqlite3* handle) const;
  };
  std::unique_ptr<sqlite3, Close> handle_;
  std::string path_;
  double busy_seconds_ = 0;
  bool unchanging_ = false;  // SQLite may rely on it that nobody writes while it is open
  // The device and number of the file; zeros: it is in memory.
  std::pair<std::uint64_t, std::uint64_t> file_;

  Status connect();
  friend class Statement;
};

class Statement {
 public:
  // Parameters are numbered from 1. Text is copied. Not-a-number is stored as infinity (SQLite
  // would make it NULL).
  Statement& bind(int parameter, std::int64_t value);
  Statement& bind(int parameter, int value) {
    return bind(parameter, static_cast<std::int64_t>(value));
  }
  Statement& bind(int parameter, double value);
  Statement& bind(int parameter, std::string_view value);
  Statement& bind(int parameter, const std::string& value) {
    return bind(parameter, std::string_view(value));
  }
  Statement& bind(int parameter, const char* value) {
    return bind(parameter, std::string_view(value));
  }

  Statement& bind_bytes(int parameter, std::string_view value);

  Result<bool> step();  // true: a row is there
  Status run();         // step to the end and reset, for use with other parameters

  std::int64_t integer(int column) const;
  double number(int column) const;
  std::string text(int column) const;
  bool is_bytes(int column) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  const Database* database_ = nullptr;
  friend class Database;
};

// BEGIN IMMEDIATE ... COMMIT. It rolls back unless it was committed.
class Transaction {
 public:
  static Result<Transaction> begin(Database& database);
  Status commit();
  Transaction(Transaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();

 private:
  explicit Transaction(Database& database) : database_(&database) {}
  Database* database_;
};

}  // namespace lathe::store
