"""Workers that are played, and rows that are sent as their places."""

import pickle

from rffbench.solvers.ridge.tree import pairs


class Played:
    """Workers that are played: they get what is sent to them pickled, and do it in any order."""

    def __init__(self, order=None, threads=1):
        self.order, self.threads, self.sent, self.kept = order, threads, [], []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def keep(self, value):
        message = pickle.dumps(value)
        self.kept.append(len(message))
        return pickle.loads(message)

    def _do(self, work, shared, part):
        message = pickle.dumps((work, shared, part))
        self.sent.append(len(message))
        work, shared, part = pickle.loads(message)
        return work(shared, *part)

    def sums(self, work, add, shared, groups):
        for parts in groups:
            nodes, found = pairs(len(parts)), {}
            todo = list(range(len(parts) + len(nodes)))
            while todo:
                ready = [each for each in todo if each < len(parts) or set(nodes[each - len(parts)]) <= found.keys()]
                number = self.order.choice(ready) if self.order else ready[0]
                todo.remove(number)
                if number < len(parts):
                    found[number] = self._do(work, shared, parts[number])
                else:
                    left, right = nodes[number - len(parts)]
                    found[number] = add(found[left], found[right])
            yield found[len(parts) + len(nodes) - 1]

    def each(self, work, shared, parts):
        return (self._do(work, shared, part) for part in parts)


class Lazy:
    """Rows, or targets, that say where they are; sent as their places."""

    def __init__(self, array, labels=None):
        self.array, self.labels = array, labels
        self.shape, self.dtype, self.ndim = array.shape, array.dtype, array.ndim

    def __len__(self):
        return len(self.array)

    def __getitem__(self, rows):
        return self.array[rows]

    def part(self, rows):
        return Lazy(self.array[rows], self.labels)
