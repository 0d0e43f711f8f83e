"""The result of a notebook that explores: what was read, and every measure; it judges the reading alone."""

from __future__ import annotations

import msgspec

from trajlab.corpus.corpus import Corpus
from trajlab.measures.frame import Population
from trajlab.report.epoch_audit import EpochAudit
from trajlab.report.result import Result, write_result


def write_exploration(corpus: Corpus, population: Population) -> Result:
    """Write ``result.json`` to the run folder: measures and the gates of the reading, no findings."""
    audit = EpochAudit(corpus, population, sample_n=0)
    result = msgspec.structs.replace(audit.result(), findings=[], sample=[])
    write_result(result)
    return result
