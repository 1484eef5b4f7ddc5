#pragma once
/// Names that were probably meant, for messages.

#include <span>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace nnex {

/// Which of `names` was probably meant by `found`: the one that is at most two letters away (case aside), else the only
/// one that begins with it; empty where neither is there.
std::string_view nearest(std::string_view found, std::span<const std::string_view> names);

/// " (did you mean 'picture'?)", or nothing.
std::string did_you_mean(std::string_view found, std::span<const std::string_view> names);

/// "no input 'pic' (did you mean 'picture'?); the model has: 'picture' 'mask'". `kind`: what it should have been.
std::string no_such(std::string_view kind, std::string_view found, std::span<const std::string_view> names);

}  // namespace nnex
#pragma GCC visibility pop
