#pragma once
// Texts of a drawing: cleaned, measured, shortened, escaped. What a model holds is shown, never obeyed.

#include <string>
#include <string_view>

namespace nnex::drawing {

/// UTF-8 that can be shown on one line: control characters become their pictures, what is no UTF-8 and what turns the
/// direction of text becomes U+FFFD.
std::string cleaned(std::string_view text);

/// Width in pixels of cleaned text in Helvetica, Arial or a font of the same metrics, in `size` pixels; others are
/// pressed into it.
double width_of(std::string_view text, double size, bool bold = false);

/// The text where it is no wider than `width`, else its beginning and end around "…" (a name's end tells it apart).
std::string fitted(std::string_view text, double width, double size, bool bold = false);

/// For XML and HTML, text and attributes in double quotes.
std::string escaped(std::string_view text);

}  // namespace nnex::drawing
