"""Wrong use of torch.save, torch.load, torch.jit.load, torch.hub and torch.package."""

PREAMBLE = """
import io, os, pickle, tempfile, zipfile
import numpy
from torch.utils import data, dlpack
from torch.utils.data import DataLoader, Dataset, Subset, TensorDataset, ConcatDataset, IterableDataset, random_split
def saved(value, **given):
    file = io.BytesIO()
    torch.save(value, file, **given)
    file.seek(0)
    return file
def path_of(content):
    with tempfile.NamedTemporaryFile(suffix=".pt", delete=False) as file:
        file.write(content)
    return file.name
class Strange:
    pass
class Stream(IterableDataset):
    def __iter__(self):
        return iter([1, 2])
class Failing(Dataset):
    def __len__(self):
        return 4
    def __getitem__(self, index):
        return {"a": 1}[index]
first = lambda *args, **given: next(iter(DataLoader(*args, **given)))
pairs = TensorDataset(x, x)
"""

SNIPPETS = (
    "torch.load(saved(Strange()))", "torch.load(saved(net))", "torch.load(saved({'a': numpy.float64(1)}))",
    "torch.load(saved(lambda: 1))", "torch.load(saved({'f': print}))", "torch.load(saved(numpy.ones(2)))",
    "torch.load(io.BytesIO(b'abc'))", "torch.load(io.BytesIO(b'\\x80\\x02abc'))",
    "torch.load(io.BytesIO(b'PK\\x03\\x04abc'))", "torch.load(io.BytesIO(saved(x).read()[:400]))",
    "torch.load(path_of(saved(x).read()[:700]))", "torch.load(path_of(b'<!DOCTYPE html>'))",
    "torch.load(path_of(b'version https://git-lfs.github.com/spec/v1'))", "torch.load(path_of(b'\\x1f\\x8b\\x08'))",
    "torch.load('.')", "torch.load(None)", "torch.load(3)", "torch.load(x)",
    "torch.load('a.pt', map='cpu')", "torch.load(saved(x), map_location='gpu')",
    "torch.load(saved(x), map_location='cuda:x')", "torch.load(saved(x), weights_only=True, pickle_module=pickle)",
    "torch.load(saved(x), mmap=True)",
    "torch.load(path_of(saved(x, _use_new_zipfile_serialization=False).read()), mmap=True)",
    "torch.load(open(path_of(b'abc')))", "torch.load(open(os.devnull, 'wb'))",
    "torch.load(saved(x), weights_only='a', pickle_load_args=1, nope=3)",
    "torch.load(path_of(pickle.dumps({'a': 1})))",
    "torch.load(path_of(pickle.dumps({'a': 1}, protocol=4)), weights_only=False)",
    "torch.load(path_of(pickle.dumps(Strange, protocol=4)) if False else saved(torch.nn.Sequential(net)), weights_only=True)",
    "b = io.BytesIO(); z = zipfile.ZipFile(b, 'w'); z.writestr('a', 'b'); z.close(); b.seek(0); torch.load(b)",
    "b = saved(torch.jit.script(nn.ReLU())._c) if False else io.BytesIO(); torch.jit.save(torch.jit.script(nn.ReLU()), b); b.seek(0); torch.load(b, weights_only=True)",
    "torch.save(x, 3)", "torch.save(x, None)", "torch.save(x, '/nowhere/model.pt')",
    "torch.save(x, '.')", "torch.save(lambda: 1, io.BytesIO())", "torch.save((i for i in [1]), io.BytesIO())",
    "torch.save({'l': __import__('threading').Lock()}, io.BytesIO())", "torch.save(open(os.devnull), io.BytesIO())",
    "torch.save(io.BytesIO(), x)",
    "class Local: pass\nLocal.__qualname__ = 'f.<locals>.Local'\ntorch.save(Local(), io.BytesIO())",
    "torch.save(net(x).grad_fn, io.BytesIO())",
    "torch.serialization.add_safe_globals([3]); torch.load(saved(Strange()))",
    "torch.serialization.set_default_mmap_options(3)", "torch.serialization.set_default_load_endianness('big')",
    "torch.serialization.register_package('a', 3, 4)", "torch.serialization.location_tag(3)",
    "torch.serialization.validate_cuda_device('cpu')", "torch.serialization.validate_cuda_device('cuda:0')",
    "torch.jit.load('nowhere.pt')",
    "torch.jit.load(saved(x))", "torch.jit.load(io.BytesIO(b'abc'))", "torch.jit.load(path_of(b'abc'))",
    "torch.jit.save(net, 'a.pt')", "torch.jit.save(x, 'a.pt')", "torch.from_file('nowhere.bin', size=4)",
    "torch.from_file(path_of(b'abc'), size=1000)",
    "torch.hub.load('/nowhere', 'x', source='local')", "torch.hub.load('a', 'b', source='web')",
    "torch.hub.load(os.path.dirname(path_of(b'')), 'x', source='local')",
    "torch.hub.load('pytorch/vision', 'resnet18', trust_repo='a')", "torch.utils.model_zoo.load_url('')",
    "from torch.package import PackageExporter\nwith PackageExporter(io.BytesIO()) as e: e.save_pickle('a', 'b.pkl', Strange())",
    "from torch.package import PackageImporter\nPackageImporter('nowhere.pt')",
    "from torch.package import PackageImporter\nPackageImporter(saved(x)).import_module('a')",
    "from torch.package import PackageExporter\nwith PackageExporter(io.BytesIO()) as e: e.extern('nope', allow_empty=False)",
    "from torch.package import PackageExporter\nwith PackageExporter(io.BytesIO()) as e: e.save_source_string('a', 'import numpy')",
)  # fmt: skip
