"""Where ONNX Runtime has the kinds of its errors."""
