#pragma once

#include <string>
#include <string_view>

namespace nnex {

/// A file that the system makes as it is read (of /proc, /sys), its first 64 KiB; empty where it cannot be read.
std::string system_text(const std::string& path);

/// The first line of `text`, which goes on behind it.
std::string_view take_line(std::string_view& text);
/// The first word of `text`, which goes on behind it; empty: there is none.
std::string_view take_word(std::string_view& text);

}  // namespace nnex
