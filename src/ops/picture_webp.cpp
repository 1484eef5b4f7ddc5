#ifdef NNEX_WEBP
#include <webp/decode.h>
#endif

#include "base/try.h"
#include "ops/picture.h"

namespace nnex {

#ifdef NNEX_WEBP
Result<Tensor> decode_webp(Bytes bytes) {
  WebPBitstreamFeatures features;
  if (WebPGetFeatures(bytes.data(), bytes.size(), &features) != VP8_STATUS_OK)
    return broken_picture("WebP", "its header is wrong");
  if (features.has_animation) return broken_picture("WebP", "it is an animation");
  NNEX_ASSIGN(Tensor t, picture_of(features.height, features.width));
  if (!WebPDecodeRGBInto(bytes.data(), bytes.size(), t.mutable_as<uint8_t>().data(), static_cast<size_t>(t.bytes()),
                         features.width * 3))
    return broken_picture("WebP", "its pixels are cut off or wrong");
  return t;
}

#else
Result<Tensor> decode_webp(Bytes) { return no_decoder("WebP", "libwebp"); }
#endif

}  // namespace nnex
