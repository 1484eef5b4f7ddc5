// The one copy of fmt's code. Every other file sees its declarations alone, which halves the time of compiling a file.

#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {

// What the declarations leave to one translation unit: the numbers' shortest digits and signs.
template dragonbox::decimal_fp<float> dragonbox::to_decimal(float) noexcept;
template dragonbox::decimal_fp<double> dragonbox::to_decimal(double) noexcept;
template thousands_sep_result<char> thousands_sep_impl(locale_ref);
template char decimal_point_impl(locale_ref);
template void buffer<char>::append(const char*, const char*);
template void vformat_to(buffer<char>&, string_view, basic_format_args<buffer_context<char>>, locale_ref);

}  // namespace detail
FMT_END_NAMESPACE
