"""Wrong use of data sets, samplers, collation and loaders."""

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
    "DataLoader()", "DataLoader(None, shuffle=True)", "DataLoader([1, 2], batch_size=-1)",
    "DataLoader([1, 2], batch_size='a')", "DataLoader([1, 2], batch_size=1.5)",
    "DataLoader([1, 2], batch_size=None, drop_last=True)",
    "DataLoader([1, 2], batch_size=None, shuffle=True, drop_last=True)", "DataLoader([1, 2], num_workers=-1)",
    "DataLoader([1, 2], timeout=-1)", "DataLoader([1, 2], num_workers=0, prefetch_factor=2)",
    "DataLoader([1, 2], prefetch_factor=-1, num_workers=1)", "DataLoader([1, 2], persistent_workers=True)",
    "DataLoader([1, 2], multiprocessing_context='fork')",
    "DataLoader([1, 2], multiprocessing_context='a', num_workers=1)",
    "DataLoader([1, 2], multiprocessing_context=3, num_workers=1)", "DataLoader([1, 2], sampler=[0], shuffle=True)",
    "DataLoader([1, 2], batch_sampler=[[0]], shuffle=True)", "DataLoader([1, 2], batch_sampler=[[0]], batch_size=2)",
    "DataLoader([1, 2], batch_sampler=[[0]], drop_last=True)", "DataLoader(Stream(), shuffle=True)",
    "DataLoader(Stream(), sampler=[0])", "DataLoader(Stream(), batch_sampler=[[0]])", "len(DataLoader(Stream()))",
    "DataLoader([1, 2], shufle=True)", "DataLoader([1, 2], pin_memory_device='a', pin_memory=True).nope",
    "DataLoader([1, 2])[0]", "DataLoader([1, 2]).next()", "l = DataLoader([1, 2]); l.batch_size = 3",
    "l = DataLoader([1, 2], num_workers=1); l.multiprocessing_context = 'a'",
    "l = DataLoader([1, 2]); l.sampler = None", "next(DataLoader([1, 2]))", "DataLoader([1, 2], in_order=3, nope=1)",
    "iter(DataLoader([1, 2])).next()", "len(iter(DataLoader([1, 2]))) + DataLoader([1]).len", "first([None])",
    "first([[1], [1, 2]], batch_size=2)", "first([(1, 2), (1,)], batch_size=2)", "first([x, y], batch_size=2)",
    "first([x, 1], batch_size=2)", "first([1, 'a'], batch_size=2)", "first([{'a': 1}, {'b': 1}], batch_size=2)",
    "first([{'a': 1}, 3], batch_size=2)", "first([Strange()], batch_size=1)", "first([{1, 2}])",
    "first([x, None], batch_size=2)", "first([numpy.array(['a']), numpy.array(['b'])], batch_size=2)",
    "first([numpy.ones(2), numpy.ones(3)], batch_size=2)", "first([numpy.array([None])])",
    "first([x.to_sparse(), x.to_sparse()], batch_size=2).nope",
    "first([net(x), net(x)], batch_size=2, num_workers=1)", "first([lambda: 1])",
    "first([range(2), 3], batch_size=2)", "first([1, 2], collate_fn=torch.stack)",
    "first([1, 2], collate_fn=torch.cat)", "first([(x, 1), (y, 2)], batch_size=2)", "first([1, 2], sampler=[5])",
    "first([1, 2], batch_sampler=[[5]])", "first(x, sampler=[9])", "first({'a': 1})",
    "first({'a': 1, 'b': 2}, batch_size=2)", "first({3, 4})", "first(Dataset())", "first(Failing())",
    "first(Failing(), num_workers=1)", "first(pairs, sampler=data.RandomSampler(pairs, num_samples=0))",
    "first([1, 2], num_workers=1, worker_init_fn=3)", "first([1, 2], num_workers=1, collate_fn=lambda b: 1 / 0)",
    "first([x, y], batch_size=2, num_workers=1)",
    "first([torch.ones(2), torch.ones(2).long(), torch.ones(3)], batch_size=3)", "first(zip([1], [2]))",
    "first(map(int, '12'))", "first((i for i in range(3)))", "first([1, 2], generator=torch.Generator('meta'))",
    "Dataset()[0]", "len(Dataset())", "len(Stream())", "Stream()[0]", "TensorDataset(x, y)",
    "TensorDataset(x, [1, 2, 3, 4])", "TensorDataset([1, 2], [3, 4])", "TensorDataset(x)[9]", "TensorDataset(x)['a']",
    "Subset([1, 2])", "len(Subset(pairs, 3))", "Subset(pairs, torch.tensor([9]))[0]", "ConcatDataset([])",
    "ConcatDataset([Stream()])", "ConcatDataset([pairs])[-99]", "ConcatDataset([1, 2])",
    "data.ChainDataset([pairs, 3]).__len__()", "list(data.ChainDataset([pairs]))", "data.StackDataset()",
    "data.StackDataset([1], [1, 2])", "data.StackDataset([1], a=[2])", "data.StackDataset(a=[1], b=[1, 2])",
    "random_split(pairs, [1, 1])", "random_split(pairs, [0.5, 0.6])", "random_split(pairs, [0.8, 0.1])",
    "random_split(pairs, [1.5, -0.5])", "random_split(pairs, [3.0, 1.0])", "random_split(pairs, [5])",
    "random_split(Stream(), [1, 1])", "random_split(pairs, [4], generator=3)", "random_split(pairs)",
    "data.RandomSampler(pairs, replacement='a')", "data.RandomSampler(pairs, num_samples=-1)",
    "data.RandomSampler(pairs, num_samples='a')", "data.RandomSampler([])", "data.RandomSampler(3)",
    "data.RandomSampler(pairs, replacement=False, num_samples=1.5)", "data.SequentialSampler(3).__len__()",
    "data.SubsetRandomSampler(3).__len__()", "data.WeightedRandomSampler([1, 2], 0)",
    "data.WeightedRandomSampler([1, 2], -1)",
    "data.WeightedRandomSampler([1, 2], 5, replacement=False).__iter__().__next__()",
    "data.WeightedRandomSampler([1, 2], 3, replacement='a')", "data.WeightedRandomSampler(x, 3)",
    "data.WeightedRandomSampler([0, 0], 3).__iter__().__next__()",
    "data.WeightedRandomSampler([-1, 2], 3).__iter__().__next__()", "data.WeightedRandomSampler([1, 2], 2.0)",
    "data.WeightedRandomSampler(3, 3)", "data.BatchSampler([0, 1], 0, False)",
    "data.BatchSampler([0, 1], True, False)", "data.BatchSampler([0, 1], 2, 'a')",
    "data.BatchSampler([0, 1], 2.0, False)", "data.BatchSampler([0, 1], 2)",
    "data.distributed.DistributedSampler(pairs)", "data.distributed.DistributedSampler(pairs, num_replicas=2)",
    "data.distributed.DistributedSampler(pairs, num_replicas=2, rank=2)",
    "data.distributed.DistributedSampler(pairs, num_replicas=2, rank=-1)", "data.DistributedSampler(Stream(), 2, 0)",
    "data.default_collate([object()])", "data.default_collate([x, y])", "data.default_collate([[1, 2], [3]])",
    "data.default_collate(3)", "data.Dataloader([1])", "data.dataset.TensorDatasets(x)", "data.IterDataset",
    'class D(Dataset):\n  def __len__(self): return -1\n  def __getitem__(self, i): return i\nfirst(D(), shuffle=True)',
    'class D(Dataset):\n  def __getitem__(self, i): return i\nfirst(D())',
    'class D(Dataset):\n  def __len__(self): return 4\nfirst(D())',
    'class D(Dataset):\n  def __len__(self): return 4\n  def __getitem__(self): return 4\nfirst(D())',
    'class D(Dataset):\n  def __len__(self): return 4\n  def __getitem__(self, i): return None\nfirst(D())',
    'class D(IterableDataset):\n  def __len__(self): return 1\n  def __iter__(self): yield 1; yield None\nfor _ in DataLoader(D()): pass',
    'class D(Dataset):\n  def __len__(self): return 4\n  def __getitems__(self, i): return [1]\n  def __getitem__(self, i): return i\nfirst(D(), batch_size=2).nope',
)  # fmt: skip
