// A linker for what the code generator makes: one object of position-independent code for x86-64 or
// 64-bit Arm. The image has, in this order, code, a jump for each function that is called by its
// name, and on pages of their own constants and slots of addresses.
#include "heddle/codegen/jit/llvm/internal/link.h"

#include <unistd.h>

#include <cstring>
#include <map>
#include <utility>

#include "heddle/codegen/jit/aarch64.h"
#include "llvm/Object/ELFObjectFile.h"

namespace heddle::cpu {
namespace {

namespace elf = llvm::ELF;
using llvm::object::ELFObjectFileBase;
using llvm::object::ELFRelocationRef;
using llvm::object::ELFSectionRef;
using llvm::object::RelocationRef;
using llvm::object::SectionRef;
using llvm::object::SymbolRef;

int64_t rounded_up(int64_t x, int64_t to) { return (x + to - 1) / to * to; }

// A value, or nothing and the error forgotten: what cannot be read is not linked.
template <class T>
std::optional<T> known(llvm::Expected<T> value) {
  if (value) return std::move(*value);
  llvm::consumeError(value.takeError());
  return std::nullopt;
}

class Linker {
 public:
  explicit Linker(const ELFObjectFileBase& object)
      : object_(object), is_arm_(object.getArch() == llvm::Triple::aarch64) {}

  bool run(llvm::StringRef entry) {
    if (!place_sections() || !read_symbols(entry)) return false;
    for (const SectionRef section : object_.sections()) {
      const auto target = known(section.getRelocatedSection());
      if (!target) return false;
      if (*target == object_.section_end()) continue;
      const auto place = places_.find((*target)->getIndex());
      if (place == places_.end()) continue;  // of what is not loaded
      for (const RelocationRef& relocation : section.relocations()) {
        if (!relocate(relocation, place->second)) return false;
      }
    }
    image_.bytes.resize(static_cast<size_t>(
        rounded_up(static_cast<int64_t>(image_.bytes.size()), CodeImage::kPage)));
    return has_entry_;
  }

  CodeImage take() { return std::move(image_); }

 private:
  // Sections that are loaded, but for tables of how to unwind: code that throws nothing has none
  // that anybody needs.
  bool place_sections() {
    std::vector<SectionRef> executed, read;
    for (const SectionRef section : object_.sections()) {
      const uint64_t flags = ELFSectionRef(section).getFlags();
      const auto name = known(section.getName());
      if (!name) return false;
      if ((flags & elf::SHF_ALLOC) == 0 || section.getSize() == 0 || *name == ".eh_frame") continue;
      if (section.isBSS()) return false;
      const bool is_written = (flags & elf::SHF_WRITE) != 0;
      if (is_written && !name->starts_with(".data.rel.ro")) return false;
      ((flags & elf::SHF_EXECINSTR) != 0 ? executed : read).push_back(section);
    }
    if (!append(executed)) return false;
    jumps_ = rounded_up(static_cast<int64_t>(image_.bytes.size()), jump_bytes_);
    int64_t functions = 0;
    for (const SymbolRef symbol : object_.symbols()) functions += is_import(symbol);
    image_.executed_bytes = rounded_up(jumps_ + functions * jump_bytes_, CodeImage::kPage);
    image_.bytes.resize(static_cast<size_t>(image_.executed_bytes));
    return append(read);
  }

  bool append(const std::vector<SectionRef>& sections) {
    for (const SectionRef& section : sections) {
      const auto contents = known(section.getContents());
      if (!contents) return false;
      const auto alignment = static_cast<int64_t>(section.getAlignment().value());
      if (alignment > CodeImage::kPage) return false;
      const int64_t at = rounded_up(static_cast<int64_t>(image_.bytes.size()), alignment);
      image_.bytes.resize(static_cast<size_t>(at));
      image_.bytes.append(contents->data(), contents->size());
      places_[section.getIndex()] = at;
    }
    return true;
  }

  static bool is_import(const SymbolRef& symbol) {
    const auto flags = known(symbol.getFlags());
    const auto name = known(symbol.getName());
    return flags && name && !name->empty() && (*flags & SymbolRef::SF_Undefined) != 0;
  }

  bool read_symbols(llvm::StringRef entry) {
    for (const SymbolRef symbol : object_.symbols()) {
      const auto name = known(symbol.getName());
      const auto section = known(symbol.getSection());
      const auto value = known(symbol.getValue());
      if (!name || !section || !value) return false;
      if (*section == object_.section_end()) continue;
      const auto place = places_.find((*section)->getIndex());
      if (place == places_.end()) continue;
      if (*name == entry) {
        image_.entry = place->second + static_cast<int64_t>(*value);
        has_entry_ = true;
      }
    }
    return true;
  }

  // Where the symbol stands in the image; nothing: it is an import, or not loaded.
  std::optional<int64_t> address_of(const SymbolRef& symbol) {
    const auto section = known(symbol.getSection());
    const auto value = known(symbol.getValue());
    if (!section || !value || *section == object_.section_end()) return std::nullopt;
    const auto place = places_.find((*section)->getIndex());
    if (place == places_.end()) return std::nullopt;
    return place->second + static_cast<int64_t>(*value);
  }

  int64_t import_of(const SymbolRef& symbol) {
    const std::string name = known(symbol.getName())->str();
    const auto [found, is_new] =
        imports_.emplace(name, static_cast<int64_t>(image_.imports.size()));
    if (is_new) image_.imports.push_back(name);
    return found->second;
  }

  // A slot that holds the address of an import, or of what stands at `address`.
  int64_t slot_of(int64_t import, int64_t address) {
    const auto [found, is_new] = slots_.emplace(std::pair(import, address), 0);
    if (!is_new) return found->second;
    const int64_t at = rounded_up(static_cast<int64_t>(image_.bytes.size()), 8);
    image_.bytes.resize(static_cast<size_t>(at + 8));
    if (import < 0) write(at, address);
    image_.slots.push_back({at, import});
    return found->second = at;
  }

  std::optional<int64_t> jump_to(int64_t import) {
    const auto [found, is_new] = jump_of_.emplace(import, 0);
    if (!is_new) return found->second;
    const int64_t at = jumps_ + static_cast<int64_t>(jump_of_.size() - 1) * jump_bytes_;
    const int64_t slot = slot_of(import, 0);
    if (is_arm_) {
      write(at, aarch64::kJumpBySlot);
      if (!fill(at, aarch64::with_page(word(at), at, slot)) ||
          !fill(at + 4, aarch64::with_offset(word(at + 4), slot, 3)))
        return std::nullopt;
    } else {  // jmp *slot(%rip)
      image_.bytes[static_cast<size_t>(at)] = '\xff';
      image_.bytes[static_cast<size_t>(at + 1)] = '\x25';
      if (!write_distance(at + 2, slot - 4)) return std::nullopt;
    }
    return found->second = at;
  }

  template <class T>
  void write(int64_t at, const T& value) {
    std::memcpy(image_.bytes.data() + at, &value, sizeof value);
  }
  [[nodiscard]] uint32_t word(int64_t at) const {
    uint32_t bits = 0;
    std::memcpy(&bits, image_.bytes.data() + at, sizeof bits);
    return bits;
  }
  bool fill(int64_t at, std::optional<uint32_t> instruction) {
    if (instruction) write(at, *instruction);
    return instruction.has_value();
  }
  bool write_distance(int64_t at, int64_t to) {
    const int64_t distance = to - at;
    if (distance != static_cast<int32_t>(distance)) return false;
    write(at, static_cast<int32_t>(distance));
    return true;
  }

  bool relocate(const RelocationRef& relocation, int64_t section) {
    const auto addend = known(ELFRelocationRef(relocation).getAddend());
    const auto symbol = relocation.getSymbol();
    if (!addend || symbol == object_.symbol_end()) return false;
    const int64_t at = section + static_cast<int64_t>(relocation.getOffset());
    const auto address = address_of(*symbol);
    if (!address && !is_import(*symbol)) return false;
    const auto target = [&] { return address ? address : jump_to(import_of(*symbol)); };
    const auto slot = [&] {
      return address ? slot_of(-1, *address) : slot_of(import_of(*symbol), 0);
    };
    return is_arm_ ? relocate_arm(relocation.getType(), at, address, *addend, target, slot)
                   : relocate_x86(relocation.getType(), at, address, *addend, target, slot);
  }

  // `address`: of the symbol, where the image has it. `target`: of it, or of a jump to it; `slot`:
  // of a slot that holds its address.
  bool relocate_x86(uint64_t type, int64_t at, std::optional<int64_t> address, int64_t addend,
                    auto target, auto slot) {
    switch (type) {
      case elf::R_X86_64_PC32: return address && write_distance(at, *address + addend);
      case elf::R_X86_64_PLT32: {
        const std::optional<int64_t> to = target();
        return to && write_distance(at, *to + addend);
      }
      case elf::R_X86_64_GOTPCREL:
      case elf::R_X86_64_GOTPCRELX:
      case elf::R_X86_64_REX_GOTPCRELX: return write_distance(at, slot() + addend);
      case elf::R_X86_64_64: return address && write_address(at, *address + addend);
      default: return false;
    }
  }

  bool relocate_arm(uint64_t type, int64_t at, std::optional<int64_t> address, int64_t addend,
                    auto target, auto slot) {
    const auto offset = [&](int shift) {
      return address && fill(at, aarch64::with_offset(word(at), *address + addend, shift));
    };
    switch (type) {
      case elf::R_AARCH64_CALL26:
      case elf::R_AARCH64_JUMP26: {
        const std::optional<int64_t> to = target();
        return to && fill(at, aarch64::with_branch(word(at), at, *to + addend));
      }
      case elf::R_AARCH64_ADR_PREL_PG_HI21:
        return address && fill(at, aarch64::with_page(word(at), at, *address + addend));
      case elf::R_AARCH64_ADD_ABS_LO12_NC:
      case elf::R_AARCH64_LDST8_ABS_LO12_NC: return offset(0);
      case elf::R_AARCH64_LDST16_ABS_LO12_NC: return offset(1);
      case elf::R_AARCH64_LDST32_ABS_LO12_NC: return offset(2);
      case elf::R_AARCH64_LDST64_ABS_LO12_NC: return offset(3);
      case elf::R_AARCH64_LDST128_ABS_LO12_NC: return offset(4);
      case elf::R_AARCH64_ADR_GOT_PAGE:
        return addend == 0 && fill(at, aarch64::with_page(word(at), at, slot()));
      case elf::R_AARCH64_LD64_GOT_LO12_NC:
        return addend == 0 && fill(at, aarch64::with_offset(word(at), slot(), 3));
      case elf::R_AARCH64_PREL32: return address && write_distance(at, *address + addend);
      case elf::R_AARCH64_ABS64: return address && write_address(at, *address + addend);
      default: return false;
    }
  }

  // An address that is read, and filled in where the image is loaded.
  bool write_address(int64_t at, int64_t address) {
    if (at < image_.executed_bytes || at % 8 != 0) return false;
    write(at, address);
    image_.slots.push_back({at, -1});
    return true;
  }

  const ELFObjectFileBase& object_;
  const bool is_arm_;
  const int64_t jump_bytes_ = is_arm_ ? sizeof aarch64::kJumpBySlot : 8;
  CodeImage image_;
  std::map<uint64_t, int64_t> places_;  // of sections, by number
  int64_t jumps_ = 0;                   // where the jumps begin
  bool has_entry_ = false;
  std::map<std::string, int64_t> imports_;
  std::map<int64_t, int64_t> jump_of_;  // by import
  std::map<std::pair<int64_t, int64_t>, int64_t> slots_;
};

}  // namespace

std::optional<CodeImage> link_image(llvm::MemoryBufferRef object, llvm::StringRef entry) {
  const auto file = known(llvm::object::ObjectFile::createObjectFile(object));
  if (!file) return std::nullopt;
  const auto* elf_file = llvm::dyn_cast<llvm::object::ELF64LEObjectFile>(file->get());
  if (elf_file == nullptr || sysconf(_SC_PAGESIZE) != CodeImage::kPage) return std::nullopt;
  const auto machine = elf_file->getArch();
  if (machine != llvm::Triple::x86_64 && machine != llvm::Triple::aarch64) return std::nullopt;
  Linker linker(*elf_file);
  if (!linker.run(entry)) return std::nullopt;
  return linker.take();
}

}  // namespace heddle::cpu
