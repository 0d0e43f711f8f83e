"""Tables of what token arrays tell, one trajectory at a time, as counts and sums: both merge by adding up."""

from __future__ import annotations

from trajlab.schema.columns import ID as _ID
from trajlab.schema.columns import Table
from trajlab.schema.columns import column as _c

_NO_PAIR = "the log-probabilities of one policy only, or of none, are recorded"
_NO_VALUES = "values or returns are not recorded"
_NO_ADVANTAGE = "advantages of tokens are not recorded"
_NO_REFERENCE = "log-probabilities of policy or reference model are not recorded"

TOKEN_HISTOGRAMS = Table(
    "token_histograms",
    "one bin of the log-ratios log π − log μ of a trajectory's tokens trained on, where it holds any",
    "source",
    (
        _ID,
        _c(
            "bin",
            "int",
            "bin, from -129 to 129: bin 0 holds log-ratios from -e(0) to e(0), bin k > 0 those in "
            "(e(k-1), e(k)], e(k) = ln 2 · 2^(k/8 - 12), bin 129 all above e(128); bin -k mirrors bin k",
            "",
        ),
        _c("tokens", "int", "tokens in the bin", "", "tokens"),
    ),
)

TOKEN_MOMENTS = Table(
    "token_moments",
    "one trajectory whose log holds token arrays: counts and sums over its tokens",
    "source",
    (
        _ID,
        _c("tokens", "int", "positions, padding included", unit="tokens"),
        _c("prompt_tokens", "int", "positions before the agent's first turn", unit="tokens"),
        _c("response_tokens", "int", "positions that the agent generated", unit="tokens"),
        _c(
            "observation_tokens",
            "int",
            "positions between and after its turns: results, marks of the template",
            unit="tokens",
        ),
        _c("padding_tokens", "int", "positions beyond the sequence", unit="tokens"),
        _c("trained_tokens", "int", "positions that the loss mask keeps", "no loss mask is recorded", "tokens"),
        _c("trained_prompt", "int", "of these, positions of the prompt", unit="tokens"),
        _c("trained_observation", "int", "of these, positions of observations; at least", unit="tokens"),
        _c("trained_padding", "int", "of these, positions of padding", unit="tokens"),
        _c("versioned", "int", "tokens, or calls of the model, whose weight version is recorded"),
        _c("unversioned", "int", "tokens, or calls of the model, without one"),
        _c("version_changes", "int", "places where the weight version differs from the one before"),
        _c("ratio_tokens", "int", "tokens trained on with both log-probabilities", _NO_PAIR, "tokens"),
        _c("ratio_unknown", "int", "tokens trained on where one of them is not finite", _NO_PAIR, "tokens"),
        _c("ratio_sum", "float", "sum of ρ = exp(log π − log μ), log-ratios beyond ±50 taken as ±50", _NO_PAIR),
        _c("ratio_squares", "float", "sum of ρ²", _NO_PAIR),
        _c("log_ratio_sum", "float", "sum of log ρ, those beyond ±50 taken as ±50", _NO_PAIR, "nats"),
        _c("log_ratio_smallest", "float", "smallest log-ratio (merges by the minimum)", _NO_PAIR, "nats"),
        _c("log_ratio_largest", "float", "largest log-ratio (merges by the maximum)", _NO_PAIR, "nats"),
        _c("value_tokens", "int", "tokens trained on with value V and return G", _NO_VALUES, "tokens"),
        _c("value_sum", "float", "sum of V", _NO_VALUES),
        _c("return_sum", "float", "sum of G", _NO_VALUES),
        _c("value_squares", "float", "sum of V²", _NO_VALUES),
        _c("return_squares", "float", "sum of G²", _NO_VALUES),
        _c("value_returns", "float", "sum of V · G", _NO_VALUES),
        _c("advantage_tokens", "int", "tokens trained on with an advantage", _NO_ADVANTAGE, "tokens"),
        _c("advantage_negative", "int", "of these, tokens with an advantage below zero", _NO_ADVANTAGE, "tokens"),
        _c("advantage_sum", "float", "sum of their advantages A, as logged", _NO_ADVANTAGE),
        _c("advantage_squares", "float", "sum of A²", _NO_ADVANTAGE),
        _c("advantage_largest", "float", "largest A (merges by the maximum)", _NO_ADVANTAGE),
        _c(
            "reference_tokens",
            "int",
            "tokens trained on with log-probabilities of policy and reference model",
            _NO_REFERENCE,
            "tokens",
        ),
        _c(
            "reference_kl",
            "float",
            "sum of r − 1 − log r, r = π_ref / π: KL of the policy to the reference model",
            _NO_REFERENCE,
            "nats",
        ),
    ),
)

TOKEN_VALUES = Table(
    "token_values",
    "a quarter of a trajectory's tokens trained on, in their order, where values and returns are recorded",
    "source",
    (
        _ID,
        _c("quarter", "int", "1 to 4: the fourth is nearest to the end", ""),
        _c("tokens", "int", "tokens with value V and return G", "", "tokens"),
        _c("value_sum", "float", "sum of V", ""),
        _c("return_sum", "float", "sum of G", ""),
    ),
)
