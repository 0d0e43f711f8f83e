"""The result of a notebook that explores: what was read, and every measure; it judges the reading alone."""

from __future__ import annotations

import msgspec

from trajlab.corpus.corpus import Corpus
from trajlab.measures.frame import Population
from trajlab.report.epoch_audit import EpochAudit
from trajlab.report.result import Result, write_result


def write_exploration(corpus: Corpus, population: Population) -> Result:
    """Write ``result.json`` to the run folder: measures and whether the records were read, no findings."""
    whole = EpochAudit(corpus, population, sample_n=0).result()
    read = [gate for gate in whole.gates if gate.name == "coverage"]
    result = msgspec.structs.replace(whole, findings=[], gates=read, sample=[])
    write_result(result)
    return result
