"""Models of other libraries in, ours out.

Each module is one library: :mod:`.huggingface` both ways, :mod:`.ctranslate2` and :mod:`.onnx` out.
Reading never runs what a file holds: JSON, safetensors, and pickles by ``weights_only``.
"""
