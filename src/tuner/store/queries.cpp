#include "tuner/store/queries.h"

#include "tuner/store/rows.h"

namespace lathe::store {

Where where_of(const Query& query) {
  Where where;
  const auto add = [&where](const std::string& condition) {
    where.sql += (where.sql.empty() ? "WHERE " : " AND ") + condition;
  };
  const std::string cache_mode(query.cache_mode ? name_of(*query.cache_mode) : "");
  const std::pair<const char*, const std::string*> named[] = {{"workload", &query.workload},
                                                              {"target", &query.target},
                                                              {"cache_mode", &cache_mode},
                                                              {"cpu", &query.cpu}};
  for (const auto& [column, text] : named) {
    if (text->empty()) continue;
    where.texts.push_back(*text);
    add(fmt::format("r.{} = (SELECT id FROM names WHERE text = ?{})", column, where.texts.size()));
  }
  const auto add_number = [&](const char* column, std::int64_t value) {
    where.numbers.push_back(value);
    add(fmt::format("r.{} = ?{}", column, where.texts.size() + where.numbers.size()));
  };
  if (query.run != 0) add_number("run", query.run);
  if (query.ok) add_number("ok", *query.ok ? 1 : 0);
  if (query.codegen_version) add_number("codegen_version", *query.codegen_version);
  return where;
}

void bind(Statement& statement, const Where& where) {
  int n = 0;
  for (const auto& text : where.texts) statement.bind(++n, text);
  for (const auto number : where.numbers) statement.bind(++n, number);
}

std::string by_standing_sql(const Where& where) {
  return select_records_sql(where.sql + " ORDER BY r.standing");
}

}  // namespace lathe::store
