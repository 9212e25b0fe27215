#!/usr/bin/env python3
"""The peer of bench_training: the same model and loop in plain PyTorch, M replicas in turn on `threads` threads.

usage: bench_training.py PRESET REPLICAS THREADS SECONDS [BATCH]   (PRESET: tiny or 1M)
Prints tokens/s, and tokens per second of processor time.
"""
import math
import sys
import time

import torch

SHAPES = {"tiny": (64, 2, 4, 2, 192, 256, 64), "1M": (128, 4, 4, 2, 352, 256, 128)}
dim, layers, heads, kv_heads, ffn, vocab, length = SHAPES[sys.argv[1]]
replicas, threads, seconds = int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
batch = int(sys.argv[5]) if len(sys.argv) > 5 else 8
torch.set_num_threads(threads)
head_dim = dim // heads


def norm(x, gain):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * gain


class Decoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        new = lambda *shape: torch.nn.Parameter(torch.randn(*shape) * 0.02)
        gain = lambda: torch.nn.Parameter(torch.ones(dim))
        self.embedding, self.head, self.final_norm = new(vocab, dim), new(vocab, dim), gain()
        self.blocks = torch.nn.ModuleList()
        for _ in range(layers):
            b = torch.nn.Module()
            b.n1, b.n2 = gain(), gain()
            b.qkv, b.o = new((heads + 2 * kv_heads) * head_dim, dim), new(dim, dim)
            b.gate_up, b.down = new(2 * ffn, dim), new(dim, ffn)
            self.blocks.append(b)
        half = head_dim // 2
        angle = torch.outer(torch.arange(length), 10000.0 ** (-torch.arange(half) * 2 / head_dim))
        self.cos, self.sin = angle.cos(), angle.sin()
        self.mask = torch.full((length, length), -math.inf).triu(1)

    def rotate(self, x):
        a, b = x.chunk(2, -1)
        return torch.cat((a * self.cos - b * self.sin, b * self.cos + a * self.sin), -1)

    def forward(self, tokens):
        x = self.embedding[tokens]
        for b in self.blocks:
            qkv = norm(x, b.n1) @ b.qkv.T
            q, k, v = qkv.split((heads * head_dim, kv_heads * head_dim, kv_heads * head_dim), -1)
            q, k, v = (t.view(batch, length, -1, head_dim).transpose(1, 2) for t in (q, k, v))
            q, k = self.rotate(q), self.rotate(k).repeat_interleave(heads // kv_heads, 1)
            v = v.repeat_interleave(heads // kv_heads, 1)
            p = torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(head_dim) + self.mask, -1)
            x = x + (p @ v).transpose(1, 2).reshape(batch, length, dim) @ b.o.T
            gate, up = (norm(x, b.n2) @ b.gate_up.T).chunk(2, -1)
            x = x + (torch.nn.functional.silu(gate) * up) @ b.down.T
        return norm(x, self.final_norm) @ self.head.T


models = [Decoder() for _ in range(replicas)]
optimizers = [torch.optim.AdamW(m.parameters(), lr=1e-3, betas=(0.9, 0.95), weight_decay=0.1) for m in models]
text = torch.randint(vocab, (batch, length + 1))


def step():
    for model, optimizer in zip(models, optimizers):
        optimizer.zero_grad()
        logits = model(text[:, :-1])
        torch.nn.functional.cross_entropy(logits.reshape(-1, vocab), text[:, 1:].reshape(-1)).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


step()
start, core_start, steps = time.perf_counter(), time.process_time(), 0
while time.perf_counter() - start < seconds:
    step()
    steps += 1
tokens = steps * replicas * batch * length
print(f"{tokens / (time.perf_counter() - start):.0f} {tokens / (time.process_time() - core_start):.0f}")
