// Linking an object that needs nothing else, without a linker: its sections get places, its
// references are filled in, and what the loader of the system asks for stands before them. For
// x86-64, whose code of ours has three kinds of relocations.
#include <elf.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "compiler/codegen/llvm/codegen.h"

namespace lathe::codegen {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t to) {
  return (value + to - 1) / to * to;
}

Error damaged(std::string what) { return {ErrorKind::kBuild, std::move(what), "link"}; }

// The tables of a relocatable object, as LLVM wrote it.
class ObjectFile {
 public:
  static Result<ObjectFile> read(std::span<const std::byte> bytes) {
    ObjectFile file(bytes);
    const auto header = file.part<Elf64_Ehdr>(0, sizeof(Elf64_Ehdr));
    if (header.empty() || std::memcmp(header[0].e_ident, ELFMAG, SELFMAG) != 0 ||
        header[0].e_machine != EM_X86_64)
      return std::unexpected(damaged("the code is no object for x86-64"));
    file.sections_ =
        file.part<Elf64_Shdr>(header[0].e_shoff, header[0].e_shnum * sizeof(Elf64_Shdr));
    for (const Elf64_Shdr& section : file.sections_)
      if (section.sh_type == SHT_SYMTAB) {
        file.symbols_ = file.entries<Elf64_Sym>(section);
        file.names_ = file.entries<char>(file.sections_[section.sh_link]);
      }
    if (file.symbols_.empty()) return std::unexpected(damaged("the object has no symbols"));
    return file;
  }

  std::span<const Elf64_Shdr> sections() const { return sections_; }
  std::span<const Elf64_Sym> symbols() const { return symbols_; }
  std::string name_of(const Elf64_Sym& symbol) const { return names_.data() + symbol.st_name; }
  template <class T>
  std::span<const T> entries(const Elf64_Shdr& section) const {
    return part<T>(section.sh_offset, section.sh_size);
  }

 private:
  explicit ObjectFile(std::span<const std::byte> bytes) : bytes_(bytes) {}

  // Empty where the file ends before.
  template <class T>
  std::span<const T> part(std::uint64_t at, std::uint64_t size) const {
    if (at > bytes_.size() || size > bytes_.size() - at) return {};
    return {reinterpret_cast<const T*>(bytes_.data() + at), size / sizeof(T)};
  }

  std::span<const std::byte> bytes_;
  std::span<const Elf64_Shdr> sections_;
  std::span<const Elf64_Sym> symbols_;
  std::span<const char> names_;
};

class Linker {
 public:
  explicit Linker(const ObjectFile& object) : object_(object) {}

  Result<std::vector<std::byte>> link() {
    sort_sections();
    find_relocations();
    LATHE_TRY_STATUS(find_exports());
    place();
    LATHE_TRY_STATUS(fill());
    write_symbols();
    write_dynamic();
    write_headers();
    return std::move(image_);
  }

 private:
  // What the loader maps with one protection, in the order of the image.
  enum Segment : std::uint8_t { kRead, kExecute, kWrite, kSegments };
  struct Piece {
    bool loaded = false;
    Segment segment = kRead;
    std::uint64_t address = 0;
  };
  struct Extent {
    std::uint64_t begin = 0, end = 0;
  };
  struct Relocation {
    std::size_t section;  // in which it fills in a reference
    Elf64_Rela entry;
    Elf64_Xword type() const { return ELF64_R_TYPE(entry.r_info); }
  };
  struct Export {
    const Elf64_Sym* symbol;
    std::string name;
  };
  static constexpr int kHeaders = kSegments + 2;  // and that of the dynamic table, and the stack's
  static constexpr int kDynamic = 9;              // entries

  void sort_sections() {
    for (const Elf64_Shdr& section : object_.sections()) {
      const bool executes = (section.sh_flags & SHF_EXECINSTR) != 0;
      const bool writes = (section.sh_flags & SHF_WRITE) != 0;
      pieces_.push_back(
          {(section.sh_flags & SHF_ALLOC) != 0, executes ? kExecute : (writes ? kWrite : kRead)});
    }
  }

  void find_relocations() {
    for (const Elf64_Shdr& section : object_.sections()) {
      if (section.sh_type != SHT_RELA || !pieces_[section.sh_info].loaded) continue;
      for (const auto& relocation : object_.entries<Elf64_Rela>(section))
        relocations_.push_back({section.sh_info, relocation});
    }
  }

  Status find_exports() {
    for (const Elf64_Sym& symbol : object_.symbols()) {
      if (ELF64_ST_BIND(symbol.st_info) == STB_LOCAL) continue;
      const std::string name = object_.name_of(symbol);
      if (symbol.st_shndx == SHN_UNDEF) return std::unexpected(undefined_symbol_error(name));
      if (ELF64_ST_VISIBILITY(symbol.st_other) == STV_DEFAULT) exports_.push_back({&symbol, name});
    }
    return {};
  }

  // Places of everything in the image; addresses are places.
  void place() {
    strings_ = std::string(1, '\0');
    for (const Export& e : exports_) strings_ += e.name + '\0';
    std::uint64_t at = sizeof(Elf64_Ehdr) + kHeaders * sizeof(Elf64_Phdr);
    const auto next = [&](std::uint64_t size, std::uint64_t alignment) {
      const std::uint64_t begin = round_up(at, std::max<std::uint64_t>(alignment, 1));
      at = begin + size;
      return begin;
    };
    symbols_at_ = next((exports_.size() + 1) * sizeof(Elf64_Sym), 8);
    hash_at_ = next((exports_.size() + 4) * sizeof(Elf64_Word), 4);  // see write_symbols()
    strings_at_ = next(strings_.size(), 1);
    const auto moved = std::ranges::count(relocations_, R_X86_64_64, &Relocation::type);
    relocations_at_ = next(static_cast<std::size_t>(moved) * sizeof(Elf64_Rela), 8);
    for (const Segment segment : {kRead, kExecute, kWrite}) {
      extents_[segment].begin = segment == kRead ? 0 : next(0, kPage);
      if (segment == kWrite) dynamic_at_ = next(kDynamic * sizeof(Elf64_Dyn), 8);
      for (std::size_t i = 0; i < pieces_.size(); ++i) {
        const Elf64_Shdr& section = object_.sections()[i];
        if (pieces_[i].loaded && pieces_[i].segment == segment)
          pieces_[i].address = next(section.sh_size, section.sh_addralign);
      }
      extents_[segment].end = at;
    }
    image_.assign(at, std::byte{0});
  }

  std::uint64_t address_of(const Elf64_Sym& symbol) const {
    return pieces_[symbol.st_shndx].address + symbol.st_value;
  }

  Status fill() {
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      const Elf64_Shdr& section = object_.sections()[i];
      if (!pieces_[i].loaded || section.sh_type == SHT_NOBITS) continue;
      std::ranges::copy(object_.entries<std::byte>(section),
                        image_.begin() + static_cast<std::ptrdiff_t>(pieces_[i].address));
    }
    for (const Relocation& relocation : relocations_) LATHE_TRY_STATUS(relocate(relocation));
    return {};
  }

  Status relocate(const Relocation& relocation) {
    const std::uint64_t at = pieces_[relocation.section].address + relocation.entry.r_offset;
    const Elf64_Sym& symbol = object_.symbols()[ELF64_R_SYM(relocation.entry.r_info)];
    if (symbol.st_shndx >= pieces_.size() || !pieces_[symbol.st_shndx].loaded)
      return std::unexpected(damaged("a reference leads out of the object"));
    const std::uint64_t target =
        address_of(symbol) + static_cast<std::uint64_t>(relocation.entry.r_addend);
    const auto type = relocation.type();
    if (type == R_X86_64_64) {
      const Elf64_Rela moved = {at, ELF64_R_INFO(0, R_X86_64_RELATIVE),
                                static_cast<Elf64_Sxword>(target)};
      put(relocations_at_ + absolute_++ * sizeof moved, moved);
      return {};
    }
    if (type != R_X86_64_PC32 && type != R_X86_64_PLT32)
      return std::unexpected(damaged(fmt::format("relocations of type {} are not known", type)));
    const auto distance = static_cast<std::int64_t>(target - at);
    if (distance != static_cast<std::int32_t>(distance))
      return std::unexpected(damaged("the code is larger than 2 GiB"));
    put(at, static_cast<std::int32_t>(distance));
    return {};
  }

  template <class T>
  void put(std::uint64_t at, const T& value) {
    std::memcpy(image_.data() + at, &value, sizeof value);
  }

  void write_symbols() {
    std::uint64_t at = symbols_at_ + sizeof(Elf64_Sym), name = 1;
    for (const Export& e : exports_) {
      Elf64_Sym symbol = *e.symbol;
      symbol.st_name = static_cast<Elf64_Word>(name);
      symbol.st_value = address_of(*e.symbol);
      put(at, symbol);
      at += sizeof symbol;
      name += e.name.size() + 1;
    }
    std::memcpy(image_.data() + strings_at_, strings_.data(), strings_.size());
    // A hash table of one bucket, in which every symbol leads to the one before it.
    const auto count = static_cast<Elf64_Word>(exports_.size());
    std::vector<Elf64_Word> hash = {1, count + 1, count};
    for (Elf64_Word i = 0; i <= count; ++i) hash.push_back(i == 0 ? 0 : i - 1);
    std::memcpy(image_.data() + hash_at_, hash.data(), hash.size() * sizeof(Elf64_Word));
  }

  void write_dynamic() {
    const Elf64_Dyn entries[kDynamic] = {{DT_HASH, {hash_at_}},
                                         {DT_SYMTAB, {symbols_at_}},
                                         {DT_SYMENT, {sizeof(Elf64_Sym)}},
                                         {DT_STRTAB, {strings_at_}},
                                         {DT_STRSZ, {strings_.size()}},
                                         {DT_RELA, {relocations_at_}},
                                         {DT_RELASZ, {absolute_ * sizeof(Elf64_Rela)}},
                                         {DT_RELAENT, {sizeof(Elf64_Rela)}},
                                         {DT_NULL, {0}}};
    put(dynamic_at_, entries);
  }

  void write_headers() {
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = ET_DYN;
    header.e_machine = EM_X86_64;
    header.e_version = EV_CURRENT;
    header.e_phoff = sizeof header;
    header.e_ehsize = sizeof header;
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = kHeaders;
    put(0, header);
    const auto phdr = [](Elf64_Word type, Elf64_Word flags, Extent e, Elf64_Xword align) {
      const std::uint64_t size = e.end - e.begin;
      return Elf64_Phdr{type, flags, e.begin, e.begin, e.begin, size, size, align};
    };
    const Extent dynamic = {dynamic_at_, dynamic_at_ + kDynamic * sizeof(Elf64_Dyn)};
    const Elf64_Phdr headers[kHeaders] = {phdr(PT_LOAD, PF_R, extents_[kRead], kPage),
                                          phdr(PT_LOAD, PF_R | PF_X, extents_[kExecute], kPage),
                                          phdr(PT_LOAD, PF_R | PF_W, extents_[kWrite], kPage),
                                          phdr(PT_DYNAMIC, PF_R | PF_W, dynamic, 8),
                                          phdr(PT_GNU_STACK, PF_R | PF_W, {}, 16)};
    put(sizeof header, headers);
  }

  const ObjectFile& object_;
  std::vector<Piece> pieces_;  // one a section
  std::vector<Relocation> relocations_;
  std::vector<Export> exports_;
  std::string strings_;
  Extent extents_[kSegments];
  std::uint64_t symbols_at_ = 0, hash_at_ = 0, strings_at_ = 0, relocations_at_ = 0,
                dynamic_at_ = 0;
  std::size_t absolute_ = 0;  // relocations that the loader does
  std::vector<std::byte> image_;
};

}  // namespace

Result<std::vector<std::byte>> link_alone(const Object& object) {
  const ObjectFile file = LATHE_TRY(ObjectFile::read(object.bytes));
  return Linker(file).link();
}

}  // namespace lathe::codegen
