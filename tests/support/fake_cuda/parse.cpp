#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include "support/fake_cuda/codes.h"
#include "support/fake_cuda/ptx.h"

namespace lathe::fake_cuda {
namespace {

constexpr std::pair<const char*, Type> kTypes[] = {
    {"b8", Type::kB8},    {"b16", Type::kB16}, {"b32", Type::kB32}, {"b64", Type::kB64},
    {"u8", Type::kU8},    {"u16", Type::kU16}, {"u32", Type::kU32}, {"u64", Type::kU64},
    {"s8", Type::kS8},    {"s16", Type::kS16}, {"s32", Type::kS32}, {"s64", Type::kS64},
    {"f16", Type::kF16},  {"f32", Type::kF32}, {"f64", Type::kF64}, {"bf16", Type::kBf16},
    {"pred", Type::kPred}};

std::optional<Type> type_of(const std::string& word) {
  for (const auto& [name, type] : kTypes)
    if (word == name) return type;
  return {};
}

[[noreturn]] void refuse(const std::string& what) { throw Fault{kInvalidPtx, what}; }

std::string without_comments(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.compare(i, 2, "//") == 0) {
      i = text.find('\n', i);
      if (i == std::string::npos) break;
    } else if (text.compare(i, 2, "/*") == 0) {
      i = text.find("*/", i) + 1;
      continue;
    }
    out += text[i];
  }
  return out;
}

std::string trimmed(const std::string& text) {
  const auto begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : text + " ") {
    if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      if (!word.empty()) words.push_back(std::exchange(word, ""));
    } else {
      word += c;
    }
  }
  return words;
}

// At commas outside of brackets and braces.
std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts;
  std::string part;
  int depth = 0;
  for (const char c : text) {
    if (c == '[' || c == '{' || c == '(') ++depth;
    if (c == ']' || c == '}' || c == ')') --depth;
    if (c == ',' && depth == 0) parts.push_back(trimmed(std::exchange(part, "")));
    else part += c;
  }
  if (!trimmed(part).empty()) parts.push_back(trimmed(part));
  return parts;
}

std::vector<std::string> split_at(const std::string& text, char at) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == at) parts.emplace_back();
    else parts.back() += c;
  }
  return parts;
}

bool is_number(const std::string& text) {
  const std::size_t at = !text.empty() && text[0] == '-' ? 1 : 0;
  return at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])) != 0;
}

std::uint64_t number_of(const std::string& text) {
  if (text.starts_with("0f") || text.starts_with("0F"))
    return std::strtoull(text.substr(2).c_str(), nullptr, 16);
  if (text.starts_with("0d") || text.starts_with("0D"))
    return std::strtoull(text.substr(2).c_str(), nullptr, 16);
  return text[0] == '-' ? static_cast<std::uint64_t>(std::strtoll(text.c_str(), nullptr, 0))
                        : std::strtoull(text.c_str(), nullptr, 0);
}

// What is declared in a space: ".align 16 .b8 name[64]" with what follows "=".
struct Declared {
  std::string name;
  std::int64_t bytes = 0, alignment = 1;
  bool open = false;  // "name[]"
  std::vector<std::byte> content;
};

std::vector<std::byte> content_of(const std::string& list, int element) {
  std::vector<std::byte> out;
  for (const std::string& each : parts_of(list)) {
    const std::uint64_t value = number_of(each);
    const auto* bytes = reinterpret_cast<const std::byte*>(&value);
    out.insert(out.end(), bytes, bytes + element);
  }
  return out;
}

Declared declared_of(const std::string& text) {
  Declared out;
  const std::size_t equals = text.find('=');
  int element = 1;
  for (const std::string& word : words_of(text.substr(0, equals))) {
    if (word.starts_with('.')) {
      if (const auto type = type_of(word.substr(1))) element = size_of(*type);
    } else if (is_number(word) && out.name.empty()) {
      out.alignment = static_cast<std::int64_t>(number_of(word));
    } else {
      out.name = word;
    }
  }
  out.bytes = element;
  if (const std::size_t bracket = out.name.find('['); bracket != std::string::npos) {
    const std::string count = out.name.substr(bracket + 1, out.name.find(']') - bracket - 1);
    out.open = count.empty();
    out.bytes = out.open ? 0 : element * static_cast<std::int64_t>(number_of(count));
    out.name.resize(bracket);
  }
  out.alignment = std::max<std::int64_t>(out.alignment, element);
  if (equals != std::string::npos) {
    const std::string rest = trimmed(text.substr(equals + 1));
    out.content =
        content_of(rest.starts_with('{') ? rest.substr(1, rest.find('}') - 1) : rest, element);
  }
  return out;
}

std::int64_t placed(std::int64_t& end, const Declared& declared) {
  const std::int64_t at = (end + declared.alignment - 1) / declared.alignment * declared.alignment;
  end = at + declared.bytes;
  return at;
}

class Parser {
 public:
  explicit Parser(const std::string& text)
      : text_(without_comments(text)), out_(std::make_shared<Text>()) {}

  std::shared_ptr<Text> parse() {
    while (skip_space(), at_ < text_.size()) parse_top();
    if (out_->version == 0 || out_->architecture == 0)
      refuse("the text has no .version or .target");
    return out_;
  }

 private:
  void skip_space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  std::string until(const char* ends) {
    const std::size_t end = text_.find_first_of(ends, at_);
    if (end == std::string::npos) refuse("the text ends too soon");
    std::string taken = text_.substr(at_, end - at_);
    at_ = end;
    return taken;
  }

  void parse_top() {
    const std::size_t line_end = std::min(text_.find('\n', at_), text_.size());
    const std::string line = text_.substr(at_, line_end - at_);
    if (line.starts_with(".version")) {
      out_->version = static_cast<int>(10 * std::strtod(words_of(line)[1].c_str(), nullptr) + 0.5);
      at_ = line_end;
    } else if (line.starts_with(".target")) {
      out_->architecture =
          static_cast<int>(std::strtol(words_of(line)[1].c_str() + 3, nullptr, 10));
      at_ = line_end;
    } else if (line.starts_with(".address_size")) {
      at_ = line_end;
    } else {
      parse_item();
    }
  }

  void parse_item() {
    const std::string head = until(";({=");
    if (head.find(".entry") != std::string::npos) return parse_entry(head);
    std::string rest;
    if (text_[at_] == '=') rest = until(";");
    if (text_[at_] != ';') refuse("not understood: " + trimmed(head));
    ++at_;
    declare(head + rest, nullptr);
  }

  void declare(const std::string& text, Kernel* kernel) {
    const Declared declared = declared_of(text);
    Symbol symbol;
    if (text.find(".shared") != std::string::npos) {
      symbol.offset = declared.open
                          ? kOpen
                          : placed(kernel != nullptr ? kernel->shared_bytes : shared_, declared);
    } else if (text.find(".local") != std::string::npos) {
      symbol = {Symbol::kLocal, placed(kernel->local_bytes, declared)};
    } else {
      std::int64_t end = static_cast<std::int64_t>(out_->globals.size());
      symbol = {Symbol::kGlobal, placed(end, declared)};
      out_->globals.resize(static_cast<std::size_t>(end));
      std::ranges::copy(declared.content, out_->globals.begin() + symbol.offset);
    }
    symbols_[declared.name] = symbol;
  }

  void parse_entry(const std::string& head) {
    Kernel kernel;
    kernel.name = words_of(head.substr(head.find(".entry") + 6))[0];
    kernel.shared_bytes = shared_;
    if (text_[at_] == '(') {
      ++at_;
      for (const std::string& parameter : parts_of(until(")"))) {
        const Declared declared = declared_of(parameter.substr(parameter.find(".param") + 6));
        kernel.parameters.push_back(declared.name);
        kernel.parameter_bytes.push_back(static_cast<int>(declared.bytes));
      }
    }
    until("{");
    ++at_;
    registers_.clear();
    labels_.clear();
    branches_.clear();
    for (int depth = 1; depth > 0;) parse_statement(kernel, depth);
    for (const auto& [index, label] : branches_) {
      const auto found = labels_.find(label);
      if (found == labels_.end()) refuse("there is no label " + label);
      kernel.body[index].target = found->second;
    }
    kernel.registers = static_cast<int>(registers_.size());
    // Shared memory that launches add begins behind what the kernel has.
    for (Instruction& each : kernel.body) place_open(each, kernel.shared_bytes);
    out_->kernels[kernel.name] = std::move(kernel);
  }

  static void place_open(Operand& operand, std::int64_t bytes) {
    const auto open = static_cast<std::uint64_t>(kOpen);
    if (operand.kind != Operand::kReg && operand.value >= open && operand.value < open + kReach)
      operand.value += static_cast<std::uint64_t>((bytes + 15) / 16 * 16) - open;
    for (Operand& part : operand.parts) place_open(part, bytes);
  }
  static void place_open(Instruction& instruction, std::int64_t bytes) {
    for (Operand& operand : instruction.operands) place_open(operand, bytes);
  }

  void parse_statement(Kernel& kernel, int& depth) {
    skip_space();
    if (at_ >= text_.size()) refuse("the text ends in a kernel");
    if (text_[at_] == '{' || text_[at_] == '}') {
      depth += text_[at_++] == '{' ? 1 : -1;
      return;
    }
    const std::size_t end = text_.find_first_of(";:", at_);
    if (end == std::string::npos) refuse("the text ends in a statement");
    const std::string statement = trimmed(text_.substr(at_, end - at_));
    // A colon ends a label; "::" is a part of a word.
    if (text_[end] == ':' && text_.compare(end, 2, "::") != 0) {
      labels_[statement] = static_cast<int>(kernel.body.size());
      at_ = end + 1;
      return;
    }
    const std::string whole = trimmed(until(";"));
    ++at_;
    if (whole.starts_with(".reg")) declare_registers(whole);
    else if (whole.starts_with(".shared") || whole.starts_with(".local")) declare(whole, &kernel);
    else if (!whole.starts_with(".")) parse_instruction(kernel, whole);
  }

  void declare_registers(const std::string& text) {
    std::string names = trimmed(text.substr(text.find_first_of(" \t", 5)));
    for (const std::string& name : parts_of(names)) {
      const std::size_t open = name.find('<');
      if (open == std::string::npos) {
        add_register(name);
        continue;
      }
      const int count = std::atoi(name.c_str() + open + 1);
      for (int i = 0; i < count; ++i) add_register(name.substr(0, open) + std::to_string(i));
    }
  }
  void add_register(const std::string& name) {
    registers_.try_emplace(name, static_cast<int>(registers_.size()));
  }

  void parse_instruction(Kernel& kernel, std::string text) {
    Instruction out;
    out.text = text;
    if (text[0] == '@') {
      out.guard_negated = text[1] == '!';
      const std::size_t begin = out.guard_negated ? 2 : 1, end = text.find_first_of(" \t");
      out.guard = register_of(text.substr(begin, end - begin));
      text = trimmed(text.substr(end));
    }
    const std::size_t space = std::min(text.find_first_of(" \t"), text.size());
    out.words = split_at(text.substr(0, space), '.');
    out.op = out.words[0];
    out.words.erase(out.words.begin());
    for (const std::string& word : out.words)
      if (const auto type = type_of(word)) out.types.push_back(*type);
    const std::string rest = trimmed(text.substr(space));
    if (out.op == "bra") branches_.emplace_back(kernel.body.size(), rest);
    else
      for (const std::string& part : parts_of(rest)) add_operand(kernel, out, part);
    kernel.body.push_back(std::move(out));
  }

  void add_operand(const Kernel& kernel, Instruction& out, const std::string& text) {
    const std::size_t both =
        out.op == "setp" || out.op == "shfl" ? text.find('|') : std::string::npos;
    if (both == std::string::npos) return out.operands.push_back(operand_of(kernel, text));
    Operand vector{.kind = Operand::kVector};
    vector.parts = {operand_of(kernel, text.substr(0, both)),
                    operand_of(kernel, text.substr(both + 1))};
    out.operands.push_back(std::move(vector));
  }

  int register_of(const std::string& name) {
    const auto found = registers_.find(name);
    if (found == registers_.end()) refuse("there is no register " + name);
    return found->second;
  }

  Operand operand_of(const Kernel& kernel, const std::string& text) {
    if (text.starts_with('[')) return address_of(kernel, trimmed(text.substr(1, text.size() - 2)));
    if (text.starts_with('{')) {
      Operand out{.kind = Operand::kVector};
      for (const std::string& part : parts_of(text.substr(1, text.size() - 2)))
        out.parts.push_back(operand_of(kernel, part));
      return out;
    }
    if (is_number(text)) return {.kind = Operand::kImmediate, .value = number_of(text)};
    if (text == "_") return {};
    if (text.starts_with('!'))
      return {.kind = Operand::kReg, .reg = register_of(text.substr(1)), .negated = true};
    if (registers_.contains(text)) return {.kind = Operand::kReg, .reg = register_of(text)};
    if (text.starts_with('%')) return {.kind = Operand::kSpecial, .name = text};
    return symbol_of(text, 0);
  }

  Operand symbol_of(const std::string& name, std::uint64_t offset) {
    const auto found = symbols_.find(name);
    if (found == symbols_.end()) refuse("there is no " + name);
    Operand out{.kind = Operand::kImmediate,
                .value = static_cast<std::uint64_t>(found->second.offset) + offset};
    if (found->second.space == Symbol::kGlobal) out.name = "global";
    return out;
  }

  Operand address_of(const Kernel& kernel, const std::string& text) {
    const std::size_t plus = text.find('+');
    const std::string base = trimmed(text.substr(0, plus));
    const std::uint64_t offset =
        plus == std::string::npos ? 0 : number_of(trimmed(text.substr(plus + 1)));
    Operand out{.kind = Operand::kAddress, .value = offset};
    if (registers_.contains(base)) {
      out.reg = register_of(base);
    } else if (std::ranges::count(kernel.parameters, base) > 0) {
      out.name = base;
    } else if (is_number(base)) {
      out.value += number_of(base);
    } else {
      const Operand symbol = symbol_of(base, offset);
      out.value = symbol.value;
      out.name = symbol.name;
    }
    return out;
  }

  // Stands for where the shared memory begins that launches add, with offsets up to kReach.
  static constexpr std::int64_t kOpen = std::int64_t{1} << 40;
  static constexpr std::uint64_t kReach = std::uint64_t{1} << 30;

  std::string text_;
  std::size_t at_ = 0;
  std::shared_ptr<Text> out_;
  std::map<std::string, Symbol> symbols_;
  std::map<std::string, int> registers_, labels_;
  std::vector<std::pair<std::size_t, std::string>> branches_;
  std::int64_t shared_ = 0;
};

}  // namespace

int size_of(Type type) {
  switch (type) {
    case Type::kB8:
    case Type::kU8:
    case Type::kS8:
    case Type::kPred: return 1;
    case Type::kB16:
    case Type::kU16:
    case Type::kS16:
    case Type::kF16:
    case Type::kBf16: return 2;
    case Type::kB32:
    case Type::kU32:
    case Type::kS32:
    case Type::kF32: return 4;
    case Type::kB64:
    case Type::kU64:
    case Type::kS64:
    case Type::kF64: break;
  }
  return 8;
}

bool Instruction::has(const char* word) const { return std::ranges::count(words, word) > 0; }

std::shared_ptr<Text> parse_ptx(const std::string& text) {
  auto parsed = Parser(text).parse();
  for (auto& [name, kernel] : parsed->kernels)
    for (Instruction& instruction : kernel.body) resolve(instruction);
  return parsed;
}

}  // namespace lathe::fake_cuda
