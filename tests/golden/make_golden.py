#!/usr/bin/env python3
"""Golden values of the decoder from an independent implementation in PyTorch.

For each case: initial weights, one batch, its loss and gradients, and the parameters after three AdamW steps with
gradient clipping (norms not decayed). Everything is computed in double precision and written as float64, so that the
comparison measures the C code's rounding alone. Run from this folder; see README.md for versions.

File layout (little-endian): int32 magic 0x676f6c64, then int32 dim, layers, heads, kv_heads, ffn, vocab, context, tied,
batch, steps, parameters; then int32 tokens [steps, batch, context], targets [same]; then float64 initial [parameters],
loss [steps] (mean per token), gradient of the first step [parameters], final [parameters].
"""
import math
import struct

import torch

CASES = {
    # name: dim, layers, heads, kv_heads, ffn, vocab, context, tied, batch
    "grouped": (16, 2, 4, 2, 24, 37, 17, 0, 3),
    "tied": (12, 1, 3, 3, 20, 31, 16, 1, 2),
}
STEPS = 3
LEARNING_RATE, BETAS, EPSILON, DECAY, CLIP = 1e-2, (0.9, 0.95), 1e-8, 0.1, 1.0
THETA, NORM_EPSILON = 10000.0, 1e-5


class Decoder(torch.nn.Module):
    def __init__(self, dim, layers, heads, kv_heads, ffn, vocab, tied):
        super().__init__()
        self.heads, self.kv_heads, self.head_dim, self.tied = heads, kv_heads, dim // heads, tied
        kv = self.head_dim * kv_heads
        new = lambda *shape: torch.nn.Parameter(torch.randn(*shape, dtype=torch.float64) * 0.1)
        gain = lambda: torch.nn.Parameter(1 + 0.1 * torch.randn(dim, dtype=torch.float64))
        self.embedding = new(vocab, dim)
        self.layers = torch.nn.ModuleList()
        for _ in range(layers):
            layer = torch.nn.Module()
            layer.attention_norm = gain()
            layer.query, layer.key, layer.value, layer.output = new(dim, dim), new(kv, dim), new(kv, dim), new(dim, dim)
            layer.mlp_norm = gain()
            layer.gate, layer.up, layer.down = new(ffn, dim), new(ffn, dim), new(dim, ffn)
            self.layers.append(layer)
        self.final_norm = gain()
        if not tied:
            self.head = new(vocab, dim)

    def in_order(self):
        """Parameters in the order of kernels/llama_tensors.def."""
        yield self.embedding
        for layer in self.layers:
            yield from (layer.attention_norm, layer.query, layer.key, layer.value, layer.output, layer.mlp_norm,
                        layer.gate, layer.up, layer.down)
        yield self.final_norm
        if not self.tied:
            yield self.head

    @staticmethod
    def norm(x, gain):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + NORM_EPSILON) * gain

    def rotate(self, x):
        """Rotary embedding in the half-split layout of Hugging Face's Llama. x: batch, heads, T, head_dim."""
        half = self.head_dim // 2
        frequency = THETA ** (-torch.arange(half, dtype=torch.float64) * 2 / self.head_dim)
        angle = torch.outer(torch.arange(x.shape[2], dtype=torch.float64), frequency)
        cos, sin = angle.cos(), angle.sin()
        a, b = x[..., :half], x[..., half:]
        return torch.cat((a * cos - b * sin, b * cos + a * sin), -1)

    def forward(self, tokens):
        batch, length = tokens.shape
        x = self.embedding[tokens]
        mask = torch.full((length, length), -math.inf, dtype=torch.float64).triu(1)
        split = lambda y, heads: y.view(batch, length, heads, self.head_dim).transpose(1, 2)
        for layer in self.layers:
            h = self.norm(x, layer.attention_norm)
            q = self.rotate(split(h @ layer.query.T, self.heads))
            k = self.rotate(split(h @ layer.key.T, self.kv_heads))
            v = split(h @ layer.value.T, self.kv_heads)
            group = self.heads // self.kv_heads
            k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
            p = torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(self.head_dim) + mask, -1)
            x = x + (p @ v).transpose(1, 2).reshape(batch, length, -1) @ layer.output.T
            h = self.norm(x, layer.mlp_norm)
            x = x + (torch.nn.functional.silu(h @ layer.gate.T) * (h @ layer.up.T)) @ layer.down.T
        return self.norm(x, self.final_norm) @ (self.embedding if self.tied else self.head).T


def flat(tensors):
    return torch.cat([t.detach().reshape(-1) for t in tensors])


def make(name, dim, layers, heads, kv_heads, ffn, vocab, context, tied, batch):
    torch.manual_seed(20260622)
    model = Decoder(dim, layers, heads, kv_heads, ffn, vocab, tied)
    parameters = list(model.in_order())
    # the C code starts from floats
    for p in parameters:
        p.data = p.data.float().double()
    optimizer = torch.optim.AdamW(
        [{"params": [p for p in parameters if p.dim() > 1], "weight_decay": DECAY},
         {"params": [p for p in parameters if p.dim() == 1], "weight_decay": 0.0}],
        lr=LEARNING_RATE, betas=BETAS, eps=EPSILON)
    tokens = torch.randint(vocab, (STEPS, batch, context))
    targets = torch.randint(vocab, (STEPS, batch, context))
    initial, losses, first_gradient = flat(parameters), [], None
    for step in range(STEPS):
        optimizer.zero_grad()
        logits = model(tokens[step])
        loss = torch.nn.functional.cross_entropy(logits.reshape(-1, vocab), targets[step].reshape(-1))
        loss.backward()
        losses.append(loss.item())
        if step == 0:
            first_gradient = flat([p.grad for p in parameters])
        torch.nn.utils.clip_grad_norm_(parameters, CLIP)
        optimizer.step()
    with open(name + ".golden", "wb") as file:
        file.write(struct.pack("<12i", 0x676f6c64, dim, layers, heads, kv_heads, ffn, vocab, context, tied, batch, STEPS,
                               initial.numel()))
        file.write(tokens.int().numpy().tobytes())
        file.write(targets.int().numpy().tobytes())
        for values in (initial, torch.tensor(losses, dtype=torch.float64), first_gradient, flat(parameters)):
            file.write(values.double().numpy().tobytes())
    print(name, initial.numel(), "parameters, losses", losses)


for name, case in CASES.items():
    make(name, *case)
