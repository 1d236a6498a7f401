"""The models of the rows in PyTorch, and one training step of each."""
import torch
from torch import nn
from torch.nn import functional as F

import work


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, stride, project):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(inputs, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, 4 * width, 1, bias=False), nn.BatchNorm2d(4 * width))
        self.short = nn.Identity()
        if project:
            self.short = nn.Sequential(nn.Conv2d(inputs, 4 * width, 1, stride, bias=False), nn.BatchNorm2d(4 * width))

    def forward(self, x):
        return F.relu(self.layers(x) + self.short(x))


def autoencoder(choices):
    layers, channels = [], 1
    for width in work.encoder(choices):
        layers += [nn.Conv2d(channels, width, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
        channels = width
    layers += drop(choices)
    for width in reversed(work.encoder(choices)):
        layers += [nn.ConvTranspose2d(channels, width, 3, 2, 1, output_padding=1), nn.ReLU()]
        channels = width
    return nn.Sequential(*layers, nn.Conv2d(channels, 1, 3, padding=1))


def resnet50(choices):
    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    channels = 64
    for stage, (width, blocks) in enumerate(work.RESNET50):
        for block in range(blocks):
            layers.append(Bottleneck(channels, width, 2 if block == 0 and stage > 0 else 1, block == 0))
            channels = 4 * width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000))


class Basic(nn.Module):
    """A block of ResNet-20; where the shape changes, the short way is a convolution, too."""

    def __init__(self, inputs, width, stride):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(inputs, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width))
        self.short = nn.Identity()
        if inputs != width or stride != 1:
            self.short = nn.Sequential(nn.Conv2d(inputs, width, 1, stride, bias=False), nn.BatchNorm2d(width))

    def forward(self, x):
        return F.relu(self.layers(x) + self.short(x))


def resnet20():
    layers, channels = [nn.Conv2d(3, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU()], 16
    for stage in range(3):
        for block in range(3):
            layers.append(Basic(channels, 16 << stage, 2 if stage > 0 and block == 0 else 1))
            channels = 16 << stage
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 1000))


def resnet(choices):
    return resnet20() if choices.layers == 20 else resnet50(choices)


def drop(choices):
    return [nn.Dropout(choices.dropout)] if choices.dropout else []


def lenet(choices):
    return nn.Sequential(
        nn.Unflatten(1, (1, 28, 28)), nn.Conv2d(1, 32, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(3136, 1024), nn.ReLU(), *drop(choices), nn.Linear(1024, 10))


def mlp(choices):
    hidden = choices.hidden
    return nn.Sequential(nn.Linear(784, hidden), nn.ReLU(), *drop(choices), nn.Linear(hidden, hidden), nn.ReLU(),
                         *drop(choices), nn.Linear(hidden, 10))


class Block(nn.Module):
    """Normalised before: attention and two dense layers, each added to what came in."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList(nn.LayerNorm(width, eps=1e-6) for _ in range(2))
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        h = self.norms[0](x)
        query, key, value = (part(h).unflatten(-1, (self.heads, -1)).transpose(1, 2)
                             for part in (self.query, self.key, self.value))
        mixed = F.scaled_dot_product_attention(query, key, value).transpose(1, 2).flatten(2)
        x = x + self.out(mixed)
        return x + self.narrow(F.relu(self.wide(self.norms[1](x))))


class Transformer(nn.Module):
    def __init__(self, choices):
        super().__init__()
        self.tokens = nn.Embedding(work.VOCABULARY, choices.width)
        self.places = nn.Parameter(0.02 * torch.randn(choices.length, choices.width))
        self.blocks = nn.Sequential(*(Block(choices.width, choices.heads) for _ in range(choices.layers or 2)))
        self.norm, self.out = nn.LayerNorm(choices.width, eps=1e-6), nn.Linear(choices.width, work.VOCABULARY)

    def forward(self, tokens):
        return self.out(self.norm(self.blocks(self.tokens(tokens) + self.places))).flatten(0, 1)


MODELS = {"mlp": mlp, "lenet": lenet, "autoencoder": autoencoder, "resnet": resnet, "transformer": Transformer}


def loss_of(model, out, y):
    return F.mse_loss(out, y) if model == "autoencoder" else F.cross_entropy(out, y.flatten())


def arithmetic(choices):
    """TensorFloat-32 for products and convolutions, or not: convolutions' default is yes."""
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = choices.precision == "tf32"
    torch.backends.cudnn.benchmark = True


def as_fed(array):
    """A batch as a careful user hands it over: channels-last, with 64-bit labels."""
    tensor = torch.from_numpy(array)
    if tensor.dim() == 4:
        tensor = tensor.contiguous(memory_format=torch.channels_last)
    if tensor.dtype == torch.int32:
        tensor = tensor.long()
    return tensor


def optimizer_of(optimizer, net, choices):
    rate = work.LEARNING_RATE[optimizer]
    if not choices.on_gpu():
        return {"sgd": torch.optim.SGD, "adam": torch.optim.Adam}[optimizer](net.parameters(), rate)
    if optimizer == "sgd":
        return torch.optim.SGD(net.parameters(), rate, fused=True)
    return torch.optim.Adam(net.parameters(), rate, fused=True, capturable=choices.mode == "graph")


def training_step(model, optimizer, threads, choices=work.Choices()):
    """step(x, y), of NumPy arrays or of what as_fed gives: the loss."""
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    arithmetic(choices)
    device = torch.device(choices.device)
    net = MODELS[model](choices).to(device, memory_format=torch.channels_last)
    updates = optimizer_of(optimizer, net, choices)

    def forward(x, y):
        # The cache of cast weights must not live on in a recording.
        with torch.autocast(device.type, torch.bfloat16, enabled=choices.precision == "bf16",
                            cache_enabled=choices.mode != "graph"):
            return loss_of(model, net(x), y)

    if choices.mode == "compile":
        # Small models are launches: recorded by the compiler as well.
        small = choices.on_gpu() and model in ("mlp", "lenet")
        forward = torch.compile(forward, mode="reduce-overhead" if small else "default")

    def update(x, y):
        updates.zero_grad(set_to_none=True)
        loss = forward(x, y)
        loss.backward()
        updates.step()
        return loss

    def to_device(x, y):
        x, y = (as_fed(a) if not torch.is_tensor(a) else a for a in (x, y))
        return x.to(device, non_blocking=True), y.to(device, non_blocking=True)

    if choices.mode == "graph":
        return graphed(update, to_device, updates)

    def step(x, y):
        if choices.mode == "compile" and choices.on_gpu():
            torch.compiler.cudagraph_mark_step_begin()
        return update(*to_device(x, y)).item()

    return step


def graphed(update, to_device, updates):
    """The whole step as one CUDA graph, as PyTorch's notes on CUDA semantics have it; made at the first call."""
    made = {}

    def step(x, y):
        if not made:
            made["x"], made["y"] = (t.clone() for t in to_device(x, y))
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                for _ in range(3):
                    update(made["x"], made["y"])
            torch.cuda.current_stream().wait_stream(side)
            updates.zero_grad(set_to_none=True)
            made["graph"] = torch.cuda.CUDAGraph()
            with torch.cuda.graph(made["graph"]):
                made["loss"] = update(made["x"], made["y"])
        for key, fed in (("x", x), ("y", y)):
            made[key].copy_(fed if torch.is_tensor(fed) else as_fed(fed), non_blocking=True)
        made["graph"].replay()
        return made["loss"].item()

    return step
