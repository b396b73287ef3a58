"""Stands in for cuDNN's frontend: the documented calls with their signatures, on graphs that torch computes on the CPU."""

import enum

import torch

__version__ = "1.23.0"
DEVICE_TYPES = ("cpu",)
#: what the next call of ``build`` or ``execute`` raises, if anything
failures = {"build": [], "execute": []}
#: graphs that were built, and executed
built, executed = [], []


class cudnnGraphNotSupportedError(RuntimeError):
    pass


class data_type(enum.Enum):
    NOT_SET = None
    FLOAT = torch.float32
    HALF = torch.float16
    BFLOAT16 = torch.bfloat16
    INT64 = torch.int64


heur_mode = enum.Enum("heur_mode", "A B FALLBACK OPENSOURCE")
norm_forward_phase = enum.Enum("norm_forward_phase", "INFERENCE TRAINING NOT_SET")
diagonal_alignment = enum.Enum("diagonal_alignment", "TOP_LEFT BOTTOM_RIGHT")
attention_implementation = enum.Enum("attention_implementation", "AUTO COMPOSITE UNIFIED")
tensor_reordering = enum.Enum("tensor_reordering", "NONE F8_128x4")

_backend = 91300


def backend_version():
    return _backend


def create_handle():
    return object()


def set_stream(handle, stream):
    raise AssertionError("there are no streams on the CPU")


class tensor:
    """A tensor of a graph: what ``set_…`` says, and for results, what computes it."""

    def __init__(self, graph, dim=None, stride=None, kind=data_type.NOT_SET, by_value=False):
        self.graph, self.dim, self.stride, self.kind, self.by_value = graph, dim, stride, kind, by_value
        self.is_output = False

    def set_output(self, value):
        assert value is True
        self.is_output = True
        return self

    def set_dim(self, dim):
        assert type(dim) is list
        self.dim = dim
        return self

    def set_stride(self, stride):
        assert type(stride) is list
        self.stride = stride
        return self

    def set_data_type(self, kind):
        assert type(kind) is data_type
        self.kind = kind
        return self


class pygraph:
    def __init__(
        self, name="test_graph", io_data_type=data_type.NOT_SET, intermediate_data_type=data_type.NOT_SET,
        compute_data_type=data_type.NOT_SET, handle=None, sm_count=None, sm_version=None, kernel_cache=None, device_property=None,
        is_dynamic_shape_enabled=False, is_override_shape_enabled=False,
    ):  # fmt: skip
        assert handle is not None and compute_data_type is intermediate_data_type is data_type.FLOAT
        self.handle, self.inputs, self.nodes, self.is_built = handle, [], [], False

    def tensor(
        self, dim, stride, data_type=data_type.NOT_SET, is_virtual=False, is_pass_by_value=False, ragged_offset=None,
        reordering_type=tensor_reordering.NONE, name="", uid=-1,
    ):  # fmt: skip
        assert type(dim) is type(stride) is list and len(dim) == len(stride) == 4
        assert all(type(n) is int and n > 0 for n in dim) and type(data_type) is type(globals()["data_type"].FLOAT)
        made = tensor(self, dim, stride, data_type, is_pass_by_value)
        self.inputs.append(made)
        return made

    def _node(self, results, inputs, compute):
        assert all(t is None or t.graph is self for t in inputs)
        made = tuple(tensor(self) for _ in range(results))
        self.nodes.append((made, inputs, compute))
        return made

    def sdpa(
        self, q, k, v, is_inference=None, attn_scale=None, bias=None, block_mask=None, use_alibi_mask=False, use_padding_mask=False,
        seq_len_q=None, seq_len_kv=None, use_causal_mask=False, use_causal_mask_bottom_right=False, sliding_window_length=None,
        diagonal_alignment=diagonal_alignment.TOP_LEFT, diagonal_band_left_bound=None, diagonal_band_right_bound=None, dropout=None,
        rng_dump=None, paged_attention_k_table=None, paged_attention_v_table=None, paged_attention_max_seq_len_kv=None,
        compute_data_type=data_type.NOT_SET, name="", score_mod=None, generate_stats=None,
        implementation=attention_implementation.AUTO, score_max=None, score_sum_exp=None, sink_token=None, unfuse_fma=False,
    ):  # fmt: skip
        assert (is_inference is None) != (generate_stats is None) and type(attn_scale) is float
        _check_attention(q, k, v, bias)
        compute = lambda *xs: _attention(*xs, attn_scale, use_causal_mask)  # noqa: E731
        return self._node(2, (q, k, v, bias), compute)

    def sdpa_backward(
        self, q, k, v, o, dO, stats, attn_scale=None, bias=None, dBias=None, use_alibi_mask=False, use_padding_mask=False,
        seq_len_q=None, seq_len_kv=None, max_total_seq_len_q=None, max_total_seq_len_kv=None, use_causal_mask=False,
        use_causal_mask_bottom_right=False, sliding_window_length=None, diagonal_alignment=diagonal_alignment.TOP_LEFT,
        diagonal_band_left_bound=None, diagonal_band_right_bound=None, dropout=None, rng_dump=None, use_deterministic_algorithm=False,
        compute_data_type=data_type.NOT_SET, name="", score_mod=None, score_mod_bprop=None, sink_token=None, dSink_token=None,
    ):  # fmt: skip
        assert type(attn_scale) is float
        _check_attention(q, k, v, bias)

        def compute(q, k, v, o, g, stats, bias):
            scores = _scores(q, k, bias, attn_scale, use_causal_mask)
            p = torch.exp(scores - stats)
            of_p = g.float() @ v.float().mT
            of_scores = p * (of_p - (g.float() * o.float()).sum(-1, keepdim=True)) * attn_scale
            return of_scores @ k.float(), of_scores.mT @ q.float(), p.mT @ g.float()

        return self._node(3, (q, k, v, o, dO, stats, bias), compute)

    def layernorm(self, norm_forward_phase, input, scale, bias, epsilon, compute_data_type=data_type.NOT_SET, name=""):
        training = norm_forward_phase is globals()["norm_forward_phase"].TRAINING
        assert epsilon.by_value and input.dim[1:] == scale.dim[1:] == bias.dim[1:] and scale.dim[0] == 1

        def compute(x, scale, bias, eps):
            x = x.float()
            mean = x.mean(1, keepdim=True)
            inverse = torch.rsqrt(x.var(1, correction=0, keepdim=True) + eps.item())
            return ((x - mean) * inverse * scale.float() + bias.float(), mean, inverse)[: 3 if training else 1]

        made = self._node(3 if training else 1, (input, scale, bias, epsilon), compute)
        made[0].set_dim(input.dim)
        for t in made[1:]:
            t.set_dim([input.dim[0], 1, 1, 1]).set_stride([1, 1, 1, 1])
        return made if training else (made[0], None, None)

    def layernorm_backward(self, grad, input, scale, mean, inv_variance, compute_data_type=data_type.NOT_SET, name=""):
        def compute(g, x, scale, mean, inverse):
            normal, g = (x.float() - mean) * inverse, g.float()
            of_normal = g * scale.float()
            of_x = of_normal - of_normal.mean(1, keepdim=True) - normal * (of_normal * normal).mean(1, keepdim=True)
            return of_x * inverse, (g * normal).sum(0, keepdim=True), g.sum(0, keepdim=True)

        made = self._node(3, (grad, input, scale, mean, inv_variance), compute)
        for t, like in zip(made, (input, scale, scale)):
            t.set_dim(like.dim).set_stride(like.stride)
        return made

    def build(self, modes=None):
        assert modes is None or all(type(m) is heur_mode for m in modes)
        if failures["build"]:
            raise failures["build"].pop()
        for made, *_ in self.nodes:
            for t in made:
                assert t.is_output and t.dim and t.stride and t.kind is not data_type.NOT_SET, (
                    "a result without a description"
                )
        self.is_built = True
        built.append(self)

    def get_workspace_size(self):
        return 16

    def execute(self, variant_pack, workspace, handle=None):
        assert self.is_built and handle is self.handle and workspace.dtype is torch.uint8 and workspace.numel() == 16
        if failures["execute"]:
            raise failures["execute"].pop()
        views = {}
        for t, buffer in variant_pack.items():
            assert buffer.dtype is t.kind.value and buffer.numel() == torch.Size(t.dim).numel(), (buffer, t.dim)
            assert list(buffer.shape) != t.dim or [s for s, n in zip(buffer.stride(), t.dim) if n > 1] == [
                s for s, n in zip(t.stride, t.dim) if n > 1
            ]
            views[t] = torch.as_strided(buffer, t.dim, t.stride)
        assert {*self.inputs} <= views.keys()
        for made, inputs, compute in self.nodes:
            for t, value in zip(made, compute(*(views.get(i) for i in inputs))):
                views[t].copy_(value)
        executed.append(self)


def _check_attention(q, k, v, bias):
    assert q.kind is k.kind is v.kind and q.kind in (data_type.HALF, data_type.BFLOAT16)
    assert all(t.stride[-1] == 1 for t in (q, k, v))
    assert bias is None or bias.kind is q.kind
    if q.dim[3] > 256:
        raise cudnnGraphNotSupportedError("no kernel")


def _scores(q, k, bias, scale, is_causal):
    scores = q.float() @ k.float().mT * scale
    if bias is not None:
        scores = scores + bias.float()
    if is_causal:
        scores = scores.masked_fill(torch.ones(scores.shape[-2:]).triu(1).bool(), -torch.inf)
    return scores


def _attention(q, k, v, bias, scale, is_causal):
    scores = _scores(q, k, bias, scale, is_causal)
    return torch.softmax(scores, -1) @ v.float(), torch.logsumexp(scores, -1, keepdim=True)
