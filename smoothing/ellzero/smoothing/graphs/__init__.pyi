from ellzero.smoothing.graphs.certificates import (
    NodeCertificate as NodeCertificate,
    NodeCertificates as NodeCertificates,
)
from ellzero.smoothing.graphs.edge_set import EdgeSet as EdgeSet
from ellzero.smoothing.graphs.feed import GraphFeed as GraphFeed
from ellzero.smoothing.graphs.graph import Graph as Graph
from ellzero.smoothing.graphs.noise import GraphNoise as GraphNoise
from ellzero.smoothing.graphs.smoothed_graph import SmoothedGraph as SmoothedGraph
