// Api: a loaded plugin. Finds its functions, calls them, and turns its errors into Status that name
// the plugin, its version and the call.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "heddle/base/status.h"
#include "heddle/pjrt/abi/table.h"

namespace heddle::pjrt {

// The name of a row: "ClientCompile".
[[nodiscard]] std::string_view name_of(abi::Slot slot);

// Safe from any thread. A plugin's code is never unloaded: its threads live in it.
class Api {
 public:
  // Loads a library and initialises it. `name` is what errors call the plugin.
  // errors   NotFound without the file; FailedPrecondition with the reason where it is no plugin,
  //          or one that Heddle cannot use
  [[nodiscard]] static StatusOr<std::shared_ptr<const Api>> load(const std::string& name,
                                                                 const std::string& library);

  // The same from a function table, which must live as long as the process.
  [[nodiscard]] static StatusOr<std::shared_ptr<const Api>> from_table(const std::string& name,
                                                                       const abi::Table* table);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] int major() const { return table_->version.major; }
  [[nodiscard]] int minor() const { return table_->version.minor; }
  // "plugin xla-cpu (PJRT 0.81)": how errors begin.
  [[nodiscard]] const std::string& label() const { return label_; }

  [[nodiscard]] bool has(abi::Slot slot) const { return row(slot) != nullptr; }
  // The types of its extensions, in the plugin's order.
  [[nodiscard]] const std::vector<abi::ExtensionType>& extensions() const { return extensions_; }
  // The first one of a type; null where it has none.
  [[nodiscard]] const abi::Extension* extension(abi::ExtensionType type) const;
  // The same for all that is loaded from one library.
  [[nodiscard]] const abi::Table* table() const { return table_; }

  // Calls the function that takes `args`, whose outputs are written only if it succeeds.
  // errors   the plugin's; Unimplemented where it has no such function
  template <class Args>
  [[nodiscard]] Status call(Args& args) const {
    const auto called = function<abi::Error*, Args>();
    if (called == nullptr) return absent(Args::kSlot);
    args.head.struct_size = sizeof(Args);
    abi::Error* error = called(&args);
    return error == nullptr ? Status() : refused(called, args, error);
  }

  // Destroys a handle. What a plugin may answer helps nobody.
  template <class Args>
  void destroy(Args args) const {
    (void)call(args);
  }

  // The error as a Status that begins with `label(): what: `; the error is destroyed. OK for null.
  [[nodiscard]] Status take(abi::Error* error, std::string_view what) const;

  // An error of Heddle's own about this plugin, with the same beginning.
  template <class... Parts>
  [[nodiscard]] Status error(StatusCode code, std::string_view what, const Parts&... parts) const {
    return base::make_error(code, label_, ": ", what, ": ", parts...);
  }

 private:
  Api(std::string name, const abi::Table* table);

  [[nodiscard]] void* row(abi::Slot slot) const {
    const auto number = static_cast<size_t>(slot);
    return number < row_count_ ? table_->rows[number] : nullptr;
  }
  template <class Result, class Args>
  [[nodiscard]] auto function() const {
    return reinterpret_cast<Result (*)(Args*)>(row(Args::kSlot));
  }
  [[nodiscard]] StatusCode code_of(const abi::Error* error) const;
  void destroy_error(abi::Error* error) const;
  [[nodiscard]] Status check_rows() const;
  [[nodiscard]] Status initialise() const;
  [[nodiscard]] Status absent(abi::Slot slot) const;
  [[nodiscard]] bool wants_longer_structure(const Status& status) const;

  // A structure with what it may have gained since this header: zeros.
  template <class T>
  struct Longer {
    explicit Longer(const T& from) : known(from) { known.head.struct_size = sizeof(*this); }
    T known;
    uint64_t unknown[16] = {};
  };

  // Calls with a longer form of what a pointer of the arguments points at, and gives back what the
  // plugin writes into it.
  template <class T, class Call>
  [[nodiscard]] static Status with_longer(T*& pointer, const Call& call) {
    if (pointer == nullptr) return call();
    T* const plain = pointer;
    Longer<std::remove_const_t<T>> longer(*plain);
    pointer = &longer.known;
    const Status status = call();
    pointer = plain;
    if constexpr (!std::is_const_v<T>) {
      *plain = longer.known;
      plain->head.struct_size = sizeof(T);
    }
    return status;
  }

  // Out of line, so that a call that succeeds saves no registers for it.
  template <class Args>
  [[nodiscard]] [[gnu::noinline, gnu::cold]] Status refused(abi::Error* (*called)(Args*),
                                                            Args& args, abi::Error* error) const {
    Status status = take(error, name_of(Args::kSlot));
    return wants_longer_structure(status) ? call_longer(called, args) : status;
  }

  // A plugin newer than this header may refuse a structure as too short: the arguments, or the
  // program, the options or the layout that they point at. The options of a client cannot be
  // longer:
  // they are elements of an array.
  template <class Args>
  [[nodiscard]] Status call_longer(abi::Error* (*called)(Args*), Args& args) const {
    Longer<Args> longer(args);
    const auto call = [&] { return take(called(&longer.known), name_of(Args::kSlot)); };
    Status status;
    if constexpr (requires { args.program->code; }) {
      status = with_longer(longer.known.program, call);
    } else if constexpr (requires { args.options->launch_id; }) {
      status = with_longer(longer.known.options, call);
    } else if constexpr (requires { args.host_layout->layout; }) {
      status = with_longer(longer.known.host_layout, call);
    } else {
      status = call();
    }
    args = longer.known;
    return status;
  }

  std::string name_;
  std::string label_;
  const abi::Table* table_;
  size_t row_count_;
  std::vector<abi::ExtensionType> extensions_;
};

}  // namespace heddle::pjrt
