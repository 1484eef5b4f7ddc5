#pragma once
// Text for people: the one door to a terminal.

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

namespace nnex::cli {

/// Writes text, in which control characters, and those that turn the direction of letters or end a line (U+2028), are
/// shown (\u001b) but for line ends and tabs: names and texts of files command no terminal. A byte that is no UTF-8 is
/// shown as \x9b. JSON stays JSON. What cannot be written is lost: CommandLine::run() finds that of standard output in
/// the end, and standard error has nobody to tell.
void say_text(std::FILE* to, std::string_view text);

/// A name or text of a file, in which line ends and tabs are shown, too: it stays within its line and column.
std::string one_line(std::string_view name);
/// A message, which may have names in it: its own further lines are indented by two blanks, and a line end before
/// anything else is a name's, which is shown. So no name makes a line that looks like a message of its own.
std::string own_lines(std::string_view message);

/// The same for text that is made, to standard output or to another stream.
template <class... Args>
void say(fmt::format_string<Args...> format, Args&&... args) {
  say_text(stdout, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void say(std::FILE* to, fmt::format_string<Args...> format, Args&&... args) {
  say_text(to, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace nnex::cli
