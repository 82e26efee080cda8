"""The loss of a step: cross entropy, and what a certificate needs beyond it, read off several noisy copies."""

import torch
from torch import Tensor, nn

_TINY = 1e-9


def compute_loss(scores: Tensor, labels: Tensor, copies: int, consistency: float, margin: float) -> Tensor:
    """Mean cross entropy of all samples + ``consistency`` · KL − ``margin`` · M, over inputs.

    ``scores`` are those of ``copies`` noisy copies of each input, all inputs once before any comes again; ``labels``
    are of the inputs. With q the mean of the probabilities that the copies of an input get:

    * KL = mean over the copies of KL(q ‖ their own): zero if the network says the same of all copies. Jeong and Shin,
      *Consistency Regularization for Certified Robustness of Smoothed Classifiers*, NeurIPS 2020.
    * M = q_y − max_{c≠y} q_c, of which the certificate of two classes is a function: it rises if votes for other
      classes become fewer, and also if they are spread over more of them.
    """
    loss = nn.functional.cross_entropy(scores, labels.repeat(copies))
    if not consistency and not margin:
        return loss
    logs = scores.log_softmax(1).view(copies, len(labels), -1)
    mean = logs.exp().mean(0)
    if consistency:
        divergence = (mean * (mean.clamp_min(_TINY).log() - logs)).sum(2).mean()
        loss = loss + consistency * divergence
    if margin:
        own = mean.gather(1, labels[:, None]).squeeze(1)
        rival = mean.scatter(1, labels[:, None], -torch.inf).amax(1)
        loss = loss - margin * (own - rival).mean()
    return loss
