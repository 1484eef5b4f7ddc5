#pragma once
// Functions of C that the functions of nodes call. Text; a file has those that its network needs.

#include <span>
#include <string>
#include <string_view>

#include "nnex/dtype.h"

namespace nnex::c_format {

/// The name of a library function for a type: "sigmoid_f32"; none: the function is of one type alone.
std::string library_name(std::string_view function, DType type);
/// Its text, for the type. It must exist.
std::string library_source(std::string_view function, DType type);
/// Which others it calls, of the same type.
std::span<const std::string_view> library_needs(std::string_view function);

}  // namespace nnex::c_format
