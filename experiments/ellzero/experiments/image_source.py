"""The images of the experiments on MNIST: a split, in black and white or in grey levels."""

from ellzero.smoothing.data.datasets import DataSet, ReorderedData
from ellzero.smoothing.data.source import DataSource
from ellzero.smoothing.errors import BadData

_IMAGE_SIZE = 224  # of folders of images, which MNIST is not
_LEAST_TRAINING = 20  # so that two are held out


class ImageSource:
    """Images of a split, binarised from the level ``threshold`` on unless it is None.

    In an order drawn from the seed ``shuffle``, so that the first ones are a random sample, unless it is None. With
    ``held_out``, only those that a training with this seed holds out.
    """

    def __init__(
        self, uri: str, split: str, *, threshold: int | None, shuffle: int | None = None, held_out: int | None = None
    ) -> None:
        self.source = DataSource(
            uri,
            split,
            k=None,
            image_size=_IMAGE_SIZE,
            binarize=threshold,
            held_out=held_out,
            shuffle=shuffle,
        )
        self.data: DataSet = self.source.load()
        if len(self.data.shape) != 3:
            raise BadData(uri, f"has inputs of shape {self.data.shape}, which are not images")

    @property
    def size(self) -> int:
        return len(self.data.labels)

    @property
    def digest(self) -> str:
        """Of the inputs in the order of their files."""
        return self.data.data.digest if isinstance(self.data, ReorderedData) else self.data.digest


def check_fit(training: DataSet, test: DataSet, uri: str) -> None:
    """Raise unless networks for the training images can be tested by the others, before any is trained."""
    if test.shape != training.shape:
        raise BadData(uri, f"has test images of shape {test.shape}, and training images of {training.shape}")
    if len(test.class_names) > len(training.class_names):
        raise BadData(uri, f"has {len(test.class_names)} classes to test, and {len(training.class_names)} to train")
    if len(training.labels) < _LEAST_TRAINING:
        raise BadData(uri, f"has {len(training.labels)} training images, and must have at least {_LEAST_TRAINING}")
