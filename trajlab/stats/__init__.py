"""Statistics as small pure functions: arrays in, an estimate with its interval and denominator out.

Needs numpy and scipy only. Rows are trajectories (or calls, steps, values), NaN is *not observed*, and
``clusters`` are the tasks that attempts share.
"""

from __future__ import annotations

from trajlab.stats.advantages import Advantages, gae, group_relative_advantage, masked_whiten
from trajlab.stats.agreement import cohen_kappa, krippendorff_alpha
from trajlab.stats.betting import capital, flag_cusum
from trajlab.stats.bootstrap import bootstrap_of_sums, cluster_bootstrap
from trajlab.stats.change_points import ChangePoint, change_point, change_points
from trajlab.stats.critic import ExplainedVariance, explained_variance
from trajlab.stats.decomposition import Decomposition, decompose
from trajlab.stats.differences import difference, inverted_difference_test, paired_difference, task_differences
from trajlab.stats.estimate import NOT_OBSERVED, Estimate, Test, not_observed, per_cent
from trajlab.stats.intervals import mean, proportion, ratio, wilson
from trajlab.stats.multiple import holm
from trajlab.stats.paired import (
    mcnemar,
    mcnemar_counts,
    paired_t_test,
    permutation_test,
    sign_test,
    two_sample_test,
)
from trajlab.stats.pass_at_k import attempts_per_task, pass_at_k, pass_hat_k
from trajlab.stats.policy import clipped_surrogate, effective_sample_size, importance_ratio, policy_gradient
from trajlab.stats.power import (
    detectable_difference,
    difference_in_sigma,
    difference_standard_error,
    power_of_difference,
    sample_size,
)
from trajlab.stats.quantiles import median, quantile
from trajlab.stats.sequential import Watch, best_so_far, false_alarm_rate, long_run_noise
from trajlab.stats.sequential import watch as line_cusum
from trajlab.stats.standard_errors import clustered_standard_error, design_effect, standard_error
from trajlab.stats.step_rules import Crossing, crossings, run_probability, runs_over, runs_rule_rate
from trajlab.stats.trend import mann_kendall, theil_sen

__all__ = [
    "NOT_OBSERVED",
    "Advantages",
    "ChangePoint",
    "Crossing",
    "Decomposition",
    "Estimate",
    "ExplainedVariance",
    "Test",
    "Watch",
    "attempts_per_task",
    "best_so_far",
    "bootstrap_of_sums",
    "capital",
    "change_point",
    "change_points",
    "clipped_surrogate",
    "cluster_bootstrap",
    "clustered_standard_error",
    "cohen_kappa",
    "crossings",
    "decompose",
    "design_effect",
    "detectable_difference",
    "difference",
    "difference_in_sigma",
    "difference_standard_error",
    "effective_sample_size",
    "explained_variance",
    "false_alarm_rate",
    "flag_cusum",
    "gae",
    "group_relative_advantage",
    "holm",
    "importance_ratio",
    "inverted_difference_test",
    "krippendorff_alpha",
    "line_cusum",
    "long_run_noise",
    "mann_kendall",
    "masked_whiten",
    "mcnemar",
    "mcnemar_counts",
    "mean",
    "median",
    "not_observed",
    "paired_difference",
    "paired_t_test",
    "pass_at_k",
    "pass_hat_k",
    "per_cent",
    "permutation_test",
    "policy_gradient",
    "power_of_difference",
    "proportion",
    "quantile",
    "ratio",
    "run_probability",
    "runs_over",
    "runs_rule_rate",
    "sample_size",
    "sign_test",
    "standard_error",
    "task_differences",
    "theil_sen",
    "two_sample_test",
    "wilson",
]
