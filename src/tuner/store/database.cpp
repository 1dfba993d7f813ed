#include "tuner/store/database.h"

#include <cerrno>
#include <cmath>
#include <filesystem>
#include <limits>

#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tuner/store/owners.h"
#include "tuner/store/store.h"

namespace lathe::store {
namespace {

Status make_folder(const std::string& path) {
  if (path.empty())
    return fail(ErrorKind::kInvalidArgument, "the database has no name; give a file with --db");
  const auto folder = std::filesystem::path(path).parent_path();
  std::error_code code;
  // Only the user's data folder is ours to make. Another folder that is not there was most likely
  // mistyped.
  if (!folder.empty() && path == path_in_data_folder())
    std::filesystem::create_directories(folder, code);
  if (code)
    return fail_at(path, ErrorKind::kIo,
                   "the database's folder cannot be made ({}); give another file with --db",
                   code.message());
  if (!folder.empty() && !std::filesystem::is_directory(folder, code))
    return fail_at(path, ErrorKind::kIo,
                   "there is no folder {}; make it, or give another file with --db",
                   folder.string());
  if (std::filesystem::is_directory(path, code))
    return fail_at(path, ErrorKind::kIo, "this is a folder, not a database; give a file with --db");
  if (std::filesystem::exists(path, code) && !std::filesystem::is_regular_file(path, code))
    return fail_at(path, ErrorKind::kIo,
                   "this is a device or the like, not a database; give a file with --db");
  return {};
}

// Zeros: there is no such file.
std::pair<std::uint64_t, std::uint64_t> file_number(const std::string& path) {
  struct stat status{};
  if (path == ":memory:" || ::stat(path.c_str(), &status) != 0) return {};
  return {status.st_dev, status.st_ino};
}

// True if one of the database's files can grow no further. SQLite does not always keep the system's
// reason.
bool near_size_limit(const std::string& path) {
  constexpr std::uintmax_t kNear = 64 << 10;  // that is written at once
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return false;
  for (const char* end : {"", "-wal", "-shm"}) {
    std::error_code none;
    const std::uintmax_t size = std::filesystem::file_size(path + end, none);
    if (!none && size + kNear > limit.rlim_cur) return true;
  }
  return false;
}

bool read_only_at_rest(const std::string& path) {
  return access(path.c_str(), R_OK) == 0 && access(path.c_str(), W_OK) != 0 &&
         access((path + "-wal").c_str(), F_OK) != 0;
}

const char* damaged(bool unchanging) {
  if (unchanging)
    return "the database is damaged, or its owner wrote to it while it was read; run the same "
           "command again";
  return "the database is damaged; save what can be read with `sqlite3 FILE .recover`, move the "
         "file away, or give another one with --db";
}

// The characters that mean something in a file URI.
std::string as_uri(const std::string& path) {
  std::string uri = path.starts_with('/') ? "file://" : "file:";
  for (const char c : path) {
    if (c == '%' || c == '?' || c == '#')
      uri += fmt::format("%{:02x}", static_cast<unsigned char>(c));
    else uri += c;
  }
  return uri;
}

}  // namespace

void Database::Close::operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }
void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

Status Database::connect() {
  sqlite3* handle = nullptr;
  const std::string uri = as_uri(path_) + (unchanging_ ? "?immutable=1" : "");
  const int flags =
      SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX |
      (unchanging_ ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  const int code = sqlite3_open_v2(uri.c_str(), &handle, flags, nullptr);
  handle_.reset(handle);
  if (code != SQLITE_OK) return error(handle == nullptr ? code : sqlite3_extended_errcode(handle));
  // Nothing that a database says of itself runs, for it may come from anybody.
  for (const int part : {SQLITE_DBCONFIG_ENABLE_TRIGGER, SQLITE_DBCONFIG_ENABLE_VIEW,
                         SQLITE_DBCONFIG_TRUSTED_SCHEMA})
    sqlite3_db_config(handle, part, 0, nullptr);
  sqlite3_extended_result_codes(handle, 1);
  sqlite3_busy_timeout(handle, static_cast<int>(busy_seconds_ * 1000));
  return {};
}

Result<Database> Database::open(const std::string& path, double busy_seconds) {
  LATHE_TRY_STATUS(make_folder(path));
  LATHE_TRY_STATUS(check_owners(path));
  // Journals lie beside the file that a link leads to.
  std::error_code none;
  const auto linked = std::filesystem::canonical(path, none);
  const std::string file = none ? path : linked.string();
  if (file != path) LATHE_TRY_STATUS(check_owners(file));
  Database database;
  database.path_ = path;
  database.busy_seconds_ = busy_seconds;
  // Even to read a file in WAL mode SQLite makes a journal beside it, unless it is promised that
  // the file does not change. A journal of somebody else would keep its owner from it.
  database.unchanging_ = read_only_at_rest(file);
  LATHE_TRY_STATUS(database.connect());
  LATHE_TRY_STATUS(database.integer("SELECT count(*) FROM sqlite_schema"));
  database.file_ = file_number(path);
  return database;
}

std::unexpected<Error> Database::error(int code) const {
  const auto say = [this](ErrorKind kind, std::string message) {
    return std::unexpected(Error{kind, std::move(message), path_});
  };
  const int system = handle_ ? sqlite3_system_errno(handle_.get()) : 0;
  if ((code & 0xff) == SQLITE_IOERR && (system == EFBIG || near_size_limit(path_)))
    return say(ErrorKind::kIo,
               "the file may not grow beyond the limit of this shell (ulimit -f): what came last "
               "was not recorded; "
               "raise the limit, then run the same command again");
  const bool full = (code & 0xff) == SQLITE_IOERR && (system == ENOSPC || system == EDQUOT);
  switch (full ? SQLITE_FULL : code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return say(ErrorKind::kIo,
                 fmt::format(
                     "another program has locked the database for more than {:g} s; wait for it or "
                     "end it, or give another file with --db",
                     busy_seconds_));
    case SQLITE_READONLY:
      return say(
          ErrorKind::kIo,
          "the database is read-only; make the file and its folder writable, or give another file "
          "with --db");
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return say(
          ErrorKind::kIo,
          "the database cannot be opened; check that the file and its folder exist and may be read "
          "and written, or give another file with --db");
    case SQLITE_FULL:
      return say(
          ErrorKind::kIo,
          "the disk is full: what came last was not recorded; free some space, then run the same "
          "command again");
    case SQLITE_CORRUPT: return say(ErrorKind::kDataLoss, damaged(unchanging_));
    case SQLITE_NOTADB:
      return say(ErrorKind::kDataLoss,
                 "this file is not a Lathe database; give another one with --db");
    case SQLITE_NOMEM:
      return say(ErrorKind::kOutOfMemory, "there is not enough memory to read the database");
    case SQLITE_TOOBIG: return say(ErrorKind::kIo, "a record is too big for the database (1 GB)");
    default: {
      const char* detail = handle_ ? sqlite3_errmsg(handle_.get()) : sqlite3_errstr(code);
      return say(
          ErrorKind::kIo,
          fmt::format(
              "the database cannot be read or written: {}{}; check the disk, or give another "
              "file with --db",
              detail,
              system == 0 ? "" : fmt::format(" ({})", std::generic_category().message(system))));
    }
  }
}

Status Database::exec(const char* sql) {
  const int code = sqlite3_exec(handle_.get(), sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return error(code);
  return {};
}

Result<Statement> Database::prepare(std::string_view sql) {
  sqlite3_stmt* raw = nullptr;
  const int code =
      sqlite3_prepare_v2(handle_.get(), sql.data(), static_cast<int>(sql.size()), &raw, nullptr);
  Statement statement;
  statement.statement_.reset(raw);
  statement.database_ = this;
  if (code != SQLITE_OK) return error(code);
  return statement;
}

Status Database::check() {
  auto statement = LATHE_TRY(prepare("PRAGMA integrity_check(1)"));
  if (LATHE_TRY(statement.step()) && statement.text(0) != "ok") return error(SQLITE_CORRUPT);
  return {};
}

Result<std::int64_t> Database::integer(std::string_view sql) {
  auto statement = LATHE_TRY(prepare(sql));
  const bool row = LATHE_TRY(statement.step());
  return row ? statement.integer(0) : 0;
}

std::string Database::file_name() const {
  return file_.second == 0 ? "" : fmt::format("{:x}.{:x}", file_.first, file_.second);
}

bool Database::read_only() const { return sqlite3_db_readonly(handle_.get(), "main") == 1; }

bool Database::gone() const { return file_.second != 0 && file_number(path_) != file_; }

Status Database::copy_to(const std::string& path) {
  auto copy = LATHE_TRY(prepare("VACUUM INTO ?"));
  return copy.bind(1, path).run();
}

std::int64_t Database::last_id() const { return sqlite3_last_insert_rowid(handle_.get()); }

Statement& Statement::bind(int parameter, std::int64_t value) {
  sqlite3_bind_int64(statement_.get(), parameter, value);
  return *this;
}
Statement& Statement::bind(int parameter, double value) {
  sqlite3_bind_double(statement_.get(), parameter,
                      std::isnan(value) ? std::numeric_limits<double>::infinity() : value);
  return *this;
}
Statement& Statement::bind(int parameter, std::string_view value) {
  // A null pointer would bind NULL, and "" may be one.
  const char* data = value.empty() ? "" : value.data();
  sqlite3_bind_text64(statement_.get(), parameter, data, value.size(), SQLITE_TRANSIENT,
                      SQLITE_UTF8);
  return *this;
}

Statement& Statement::bind_bytes(int parameter, std::string_view value) {
  sqlite3_bind_blob64(statement_.get(), parameter, value.data(), value.size(), SQLITE_TRANSIENT);
  return *this;
}

Result<bool> Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return database_->error(code);
}

Status Statement::run() {
  for (;;) {
    const auto more = step();
    if (!more) {
      sqlite3_reset(statement_.get());
      return std::unexpected(more.error());
    }
    if (!*more) break;
  }
  sqlite3_reset(statement_.get());
  return {};
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}
double Statement::number(int column) const {
  return sqlite3_column_double(statement_.get(), column);
}
std::string Statement::text(int column) const {
  const auto* data = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return data == nullptr ? std::string() : std::string(data, static_cast<std::size_t>(size));
}

bool Statement::is_bytes(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_BLOB;
}

Result<Transaction> Transaction::begin(Database& database) {
  LATHE_TRY_STATUS(database.exec("BEGIN IMMEDIATE"));
  return Transaction(database);
}

Status Transaction::commit() {
  LATHE_TRY_STATUS(database_->exec("COMMIT"));
  database_ = nullptr;
  return {};
}

Transaction::~Transaction() {
  if (database_ != nullptr) (void)database_->exec("ROLLBACK");
}

}  // namespace lathe::store
