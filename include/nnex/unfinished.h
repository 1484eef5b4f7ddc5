#pragma once
/// For programs that end at once, by a signal or a limit of time.

#pragma GCC visibility push(default)
namespace nnex {

/// Ends the compilers that this process has started, and removes the files and folders that it is writing and that have
/// no name of their own yet. Whoever writes another one after it waits for the end of the program, which must come. Not
/// for signal handlers: a thread that one wakes may call it.
void remove_unfinished() noexcept;

}  // namespace nnex
#pragma GCC visibility pop
