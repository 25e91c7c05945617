"""The recipe of the tiny models that the tests train."""

RECIPE = """
name = "tiny"
task = "gec"
language = "en"

[data]
vocabulary = 400
validation = 12
inflections = "lists/verb-form-vocab.txt.xz"
word_counts = "lists/unigrams.tsv.xz"
noise_lists = "lists"
exclude = ["dev.txt", "dev.m2"]

[[data.source]]
file = "clean/plain.txt"
licence = "CC0"
weight = 3
words = [3, 12]
vary_names = true

[[data.source]]
file = "clean/packed.txt.xz"
licence = "CC0"
weight = 1
limit = 20

[noise]
clean_share = 0.25
mean_errors = 0.7

[noise.rates]
"R:VERB:SVA" = 12

[network]
width = 32
heads = 4
ffn_width = 64
encoder_layers = 1
decoder_layers = 1
max_positions = 64
dropout = 0.1

[training]
batch_tokens = 300
joined_share = 0.1
optimizer = "muon"
learning_rate = 4e-3
warmup_share = 0.1
decay_share = 0.4
weight_decay = 0.01
gradient_clip = 1.0
label_smoothing = 0.0
edit_weight = 3.0
edit_weight_end = 1.0
kept_sample = 0.5
precision = "32-true"
validate_every = "20s"
save_every = "10s"
"""
