"""The loss of a step: cross entropy, and how much the answers on several noisy copies of an input differ."""

from torch import Tensor, nn

_TINY = 1e-9


def compute_loss(scores: Tensor, labels: Tensor, copies: int, consistency: float) -> Tensor:
    """Mean cross entropy of all samples + ``consistency`` · KL.

    ``scores`` are those of ``copies`` noisy copies of each input, all inputs once before any comes again; ``labels``
    are of the inputs. With q the mean of the probabilities that the copies of an input get, KL is the mean of
    KL(q ‖ p) over the probabilities p of each copy, and over inputs: 0 if the network says the same of all copies.

    Jeong and Shin: *Consistency Regularization for Certified Robustness of Smoothed Classifiers*, NeurIPS 2020.
    """
    loss = nn.functional.cross_entropy(scores, labels.repeat(copies))
    if not consistency:
        return loss
    logs = scores.log_softmax(1).view(copies, len(labels), -1)
    mean = logs.exp().mean(0)
    return loss + consistency * (mean * (mean.clamp_min(_TINY).log() - logs)).sum(2).mean()
