// The files of page/, as CMake put them into the program.

#include "api/view/drawing.h"
#include "view_page.inc"

namespace nnex::drawing {

std::string_view picture_style() { return kPictureStyle; }
std::string_view page_style() { return kPageStyle; }
std::string_view page_script() { return kPageScript; }

}  // namespace nnex::drawing
