"""Fields that readers pass over on purpose, format by format: patterns over field names, list positions as ``*``.

A test changes every field of every sample: what changes nothing that is read must be listed here, so that a field lost
by mistake shows. What a reader does not know, ``trajlab formats --why FILE`` names.
"""

from __future__ import annotations

# What a call did, as text beside the call itself; the terminal's surroundings; licences of skills and tools.
_OPENHANDS_SDK_EVENT = (
    "action.*", "action_id", "activated_*", "agent.tools.*", "agent_state", "blocked_*", "classification.*", "detail",
    "extended_content", "id", "llm_message.content.*.cache_prompt", "llm_message.content.*.type",
    "llm_message.thinking_blocks", "observation.*", "parent_id", "security_risk", "source", "summary",
    "system_prompt.*", "thinking_blocks", "thought.*", "tool_call.*", "tools.*",
)  # fmt: skip
# Logged calls: earlier turns in a context are the answers of calls before; the same in the words of a model without
# tools; marks of the prompt cache; what was sent to a proxy beside the request.
_OPENHANDS_CALL = (
    *(f"{sent}.*.{name}" for sent in ("messages", "fncall_messages") for name in ("name", "tool_calls*")),
    *(f"input.*.{name}" for name in ("arguments", "id", "name", "status", "summary.*")),
    *(f"{answer}.{name}" for answer in ("response", "fncall_response")
      for name in ("choices.*.index", "choices.*.message.function_call", "choices.*.message.role",
                   "choices.*.message.tool_calls.*.index", "choices.*.message.tool_calls.*.type", "created*", "object",
                   "usage.total_tokens")),
    *(f"response.output.*.{name}" for name in ("content.*.annotations", "id", "role", "status", "summary.*.type")),
    "*.content.*.cache_control.type", "*.content.*.type", "args", "context_window", "error.repr", "error.traceback",
    "kwargs.extra_body.*", "kwargs.tools.*", "raw_response.*", "tools.*.description", "tools.*.parameters*",
    "tools.*.type", "usage_summary.*",
)  # fmt: skip
_RESPONSES_SETTINGS = (
    "background", "billing.*", "conversation", "*_penalty", "include*", "kv_transfer_params", "max_*",
    "parallel_tool_calls", "previous_response_id", "prompt", "prompt_cache_key", "reasoning*", "safety_identifier",
    "service_tier", "store", "stream", "temperature", "text*", "tool_choice", "top_*", "truncation", "user",
)  # fmt: skip

IGNORED: dict[str, tuple[str, ...]] = {
    # What the segments say stands in `completion`; their lengths are read.
    "areal": ("segments.*.text",),
    # Columns that stand as JSON text in `trajectory_json`, too; it is read. A choice is the agent's whatever its role;
    # an id or a name tells something where several calls wait for an answer; schemas of tools; words for people.
    "art": (
        "format_version", "group_json", "group_logs", "group_metadata", "group_metrics", "logs*", "messages*",
        "metadata", "metrics", "tools", "trajectory_index", "trajectories.*.logs*",
        "trajectories.*.messages_and_choices.*.index", "trajectories.*.messages_and_choices.*.message.role",
        "trajectories.*.messages_and_choices.*.message.tool_calls.*.type",
        "trajectories.*.messages_and_choices.*.name", "trajectories.*.messages_and_choices.*.tool_call_id",
        "trajectories.*.tools.*.function.description", "trajectories.*.tools.*.function.parameters*",
        "trajectories.*.tools.*.type",
    ),
    # Ids and the surroundings of spans; a call of a tool repeats what the model asked for.
    "agent_lightning": (
        "attributes.gen_ai.completion.*.role", "attributes.gen_ai.prompt.*.content", "attributes.gen_ai.system",
        "attributes.tool.parameters", "context.*", "events", "links", "name", "parent", "parent_id", "resource.*",
        "sequence_id", "span_id", "status.description", "trace_id",
    ),
    # Steps are counted without the first observation; the trace of an error.
    "agentlab": ("cum_raw_reward", "stack_trace", "stats.cum_steps", "stats.max_*"),
    "atif": (
        "schema_version", "continued_trajectory_ref", "agent.tool_definitions.*.function.parameters",
        "agent.tool_definitions.*.type", "steps.*.llm_call_count", "steps.*.message.*.type", "steps.*.model_name",
        "steps.*.metrics.cached_tokens", "steps.*.step_id", "subagent_trajectories.*.schema_version",
        "subagent_trajectories.*.steps.*.step_id",
        "steps.*.observation.results.*.subagent_trajectory_ref.*.trajectory_id",
    ),
    # Read where they tell something: an id or a name where several calls wait for an answer. Schemas of tools; what the
    # provider signs and counts; rules that hacks were planted by; what tests printed; marks of nebius for its training.
    "chat": (
        "eval_logs", "trajectory.*.cutoff_date", "trajectory.*.mask",
        "*.content.*.annotations", "*.content.*.signature", "*.content.*.type", "messages.*.id", "*.name",
        "messages.*.status", "*.summary.*.type", "planted*", "*.tool_call_id", "*.tool_calls.*.type",
        "*.tool_use_id", "tools.*.function.description", "tools.*.function.parameters*", "tools.*.function.strict",
        "tools.*.type",
    ),
    # Places and ids of the session; totals and results that stand in its messages, too.
    "claude_code": (
        "agentId", "cwd", "gitBranch", "is_error", "message.content.*.signature", "message.role",
        "message.stop_sequence", "message.type", "messageId", "num_turns", "parentUuid", "permissionMode", "requestId",
        "snapshot", "spawnDepth", "toolUseResult*", "usage.*", "userType", "uuid",
    ),
    "cline": (
        "*content.*.signature", "files_in_context", "messages.*.id", "*modelInfo.provider", "model_usage.*.ts", "type",
    ),
    # Events that repeat an item, with their clocks, and settings of the session.
    "codex": (
        "author", "*content.*.type", "*encrypted_content", "error.message", "git", "item.changes.*.kind", "payload.*",
        "recipient", "record_type", "status", "*summary.*.type", "text",
    ),
    # Ids and places of the session, hooks, what a later event tells whole.
    "copilot_cli": (
        "data.arguments.*", "data.attachments", "data.context.*", "data.hook*", "data.input.*", "data.message",
        "data.messageId", "data.modelMetrics.*.requests.*", "data.modelMetrics.*.usage.cacheWriteTokens",
        "data.previousModel", "data.producer", "data.reason", "data.reasoningId", "data.role", "data.source",
        "data.startTime", "data.statusCode", "data.summary", "data.toolRequests", "data.toolRequests.*.type",
        "data.totalPremiumRequests", "data.totalToolCalls", "data.transformedContent", "data.turnId", "data.version",
        "id", "parentId",
    ),
    # Where no call has a result's id, it belongs to the first that waits.
    "cursor": ("content", "message.content.*.content.*.type", "message.content.*.tool_use_id", "metadata.*"),
    "droid": (
        "content", "cwd", "message", "messageId", "owner", "parentId", "source", "subtype", "title", "todos.*",
        "toolId",
    ),
    # What an answer's parts tell; settings and what the interface shows.
    "opencode": (
        "agent", "directory", "error.data.*", "files", "hash", "mime", "mode", "model.*", "parentID", "path.*",
        "projectID", "providerID", "state.metadata", "state.metadata.output", "state.title", "summary.title", "title",
        "url",
    ),
    "pi": (
        "customType", "cwd", "details.*", "display", "firstKeptEntryId", "fromHook", "label", "message.api",
        "message.cancelled", "message.content.*.type", "message.customType", "message.display", "message.errorMessage",
        "message.exitCode", "message.fromId", "message.provider", "message.responseId", "message.toolName",
        "message.truncated", "message.usage.cost.cache*", "message.usage.cost.input", "message.usage.cost.output",
        "message.usage.totalTokens", "parentId", "provider",
        "targetId", "thinkingLevel", "tokensBefore", "version",
    ),
    # What the terminal showed.
    "gemini_cli": (
        "$pin", "kind", "messages.*.id", "*thoughts", "*thoughts.*.timestamp", "*tokens.tool", "*tokens.total",
        "*toolCalls", "*toolCalls.*.displayName", "*toolCalls.*.result.*.functionResponse.id",
        "*toolCalls.*.result.*.functionResponse.name", "*toolCalls.*.resultDisplay", "*toolCalls.*.status",
        "*toolCalls.*.timestamp", "projectHash", "startTime", "timestamp", "history.*.parts.*.functionResponse.name",
        "history.*.parts.*.inlineData.*", "lastUpdated", "start_time", "summary",
    ),
    # How the container was run; totals where `agent_result` has them; what an ATIF document beside it repeats.
    "harbor": (
        "agent.*", "agent_info.model_info.provider", "config.*", "exception_info.exception_message",
        "exception_info.exception_traceback", "exception_info.occurred_at", "exception_info.policy.*",
        "final_metrics.total_cached_tokens", "final_metrics.total_cost_usd", "id", "session_id", "source", "started_at",
        "step_results.*.agent_execution.finished_at", "task_checksum", "task_id.path", "trajectory_id", "trial_uri",
        "steps.*.llm_call_count", "steps.*.message.*.type", "steps.*.model_name", "steps.*.metrics.cached_tokens",
        "steps.*.step_id", "steps.*.observation.results.*.subagent_trajectory_ref.*.trajectory_id",
        "subagent_trajectories.*.schema_version", "subagent_trajectories.*.steps.*.step_id",
    ),
    # The conversation once more in other words, and its first message; schemas of tools; what tests printed.
    "harbor_traces": (
        "conversations_sharegpt*", "instruction", "model_provider", "tool_definitions.*.function.description",
        "tool_definitions.*.function.parameters*", "tool_definitions.*.type", "verifier_output",
    ),
    # Named, not joined.
    "harness_files": ("*",),
    # What the mapping does not name.
    "mapped": ("*",),
    # Events repeat what the messages hold; results of the whole evaluation, which no single sample tells.
    "inspect_log": (
        "eval.*", "invalidated", "metadata", "plan.*", "reductions.*", "results.*", "stats.*", "error*", "status",
        "version", "tags*", "location", "samples.*.attachments.*", "samples.*.completed_at", "samples.*.error_retries",
        "samples.*.events*", "samples.*.messages.*", "samples.*.output.*", "samples.*.input*", "samples.*.store*",
        "samples.*.metadata*", "samples.*.timelines*", "samples.*.scores.*", "samples.*.sandbox*", "samples.*.uuid",
        "samples.*.files*", "samples.*.setup", "samples.*.choices", "samples.*.target*", "samples.*.model_usage.*",
        "samples.*.role_usage*", "samples.*.*_time", "samples.*.invalidation", "samples.*.events_data*", "log_updates*",
        "samples.*.limit.*", "samples.*.message_limit",
    ),
    "langchain": (
        "*additional_kwargs", "*artifact", "data.id", "messages.*.id", "*invalid_tool_calls",
        "*invalid_tool_calls.*.error", "*invalid_tool_calls.*.type", "*name", "*response_metadata",
        "*tool_calls", "*tool_calls.*.type", "data.type",
        "*usage_metadata.total_tokens", "id.*",
    ),
    # Each prompt repeats the turns before it, each tool what the model asked for; ids and levels matter where
    # observations are nested or fail; what each side of a call cost.
    "langfuse": (
        "*cost*etails.input", "*cost*etails.output", "*environment", "*id", "*input", "*input.command", "*input.path",
        "*input.task", "*input.*.tool_calls.*", "*level", "*output.role", "*output.tool_calls.*.type", "*project*d",
        "*status*essage", "*traceId", "*usage*etails.total", "meta.cursor", "scores.*.dataType", "scores.*.source",
        "scores.*.stringValue", "*sessionId", "*tags", "*timestamp", "trace.name", "trace.scores",
    ),
    # The same; costs and token counts in detail, places in the server, what LangChain says twice.
    "langsmith": (
        "app_path", "attachments", "child_run*", "completion_cost*", "completion_token_details", "dotted_order",
        "events", "extra", "extra.invocation_params*", "extra.metadata", "extra.metadata.ls_model_type",
        "feedback_stats", "feedback_stats.*.n", "first_token_time", "id", "in_dataset", "inputs.command",
        "inputs.input", "inputs.question", "inputs.step", "inputs.messages.*.content", "inputs.messages.*.role",
        "inputs.messages.*.*.id.*", "inputs.messages.*.*.type", "inputs.messages.*.*.kwargs.content.*",
        "inputs.messages.*.*.kwargs.response_metadata.*", "inputs.messages.*.*.kwargs.tool_calls.*", "manifest_id",
        "outputs.choices.*.message.role", "outputs.choices.*.message.tool_calls.*.type", "outputs.llm_output",
        "outputs.generations.*.generation_info", "outputs.generations.*.message.id.*",
        "outputs.generations.*.message.type", "outputs.generations.*.kwargs.type",
        "outputs.generations.*.kwargs.tool_calls", "outputs.generations.*.tool_calls.*.type",
        "outputs.generations.*.text", "outputs.messages.*", "outputs.output.id.*", "outputs.output.kwargs.*",
        "outputs.output.lc", "outputs.output.type", "outputs.step", "parent_run_id*", "prompt_cost*",
        "prompt_token_details", "reference_example_id", "serialized*", "session_id", "tags", "total_tokens",
    ),
    # Clocks date a row and measure nothing; of several names of the step one is read.
    "metric_rows": (
        "Relative Time (Process)", "Step", "Wall time", "_runtime", "_step", "_timestamp", "_wandb*", "global_step",
        "recorded_at", "relative_time", "step", "time", "timestamp", "train/global_step", "trainer/global_step",
        "training/global_step", "training_step", "wall_time",
    ),
    # A nanosecond more is no other moment. What the spans tell, too: previews, inputs and outputs, sizes. Who assessed
    # and when. What a status says matters where a span failed.
    "mlflow": (
        "*_time_unix_nano", "assessments", "*assessments.*_id", "*assessments.*_time", "*assessments.*.source.*",
        "*assessments.*.valid", "client_request_id", "*execution_duration*", "*mlflow.source.type",
        "*mlflow.spanLogLevel", "*mlflow.spanStartTimeNs", "*mlflow.trace.size*", "*mlflow.trace.tokenUsage",
        "*mlflow.traceInputs", "*mlflow.traceName", "*mlflow.traceOutputs", "*mlflow.traceRequestId",
        "*mlflow.trace_schema.version", "*_preview", "*request_time", "request.*", "response", "*spans.*.events",
        "*spans.*.links", "*spans.*.status.message", "*spans.*.trace_id", "trace",
        "info.trace_location.*",
    ),
    # Templates, stack traces, and the provider's own copy of what stands in `actions` and `info`.
    "mini_swe_agent": (
        "trajectory_format", "info.config.*_template", "info.exception_str", "info.traceback", "messages.*.type",
        "messages.*.content.*.type", "messages.*.extra.exception*", "messages.*.extra.traceback",
        "messages.*.extra.n_actions", "messages.*.extra.exit_status", "messages.*.extra.submission",
        "messages.*.extra.response.*", "messages.*.call_id", "messages.*.tool_call_id", "messages.*.tool_calls.*",
        "messages.*.output*",
    ),
    # Ids of tokens and one side of a ratio, of which the lengths are read; ids and states of items, schemas of tools;
    # settings of the Responses API, which the response repeats, of the sandbox and of the simulation; whether a failed
    # attempt is tried again; results of single tests; the simulated user's script; the words beside a kind of failure,
    # and what the patch and the kind of error tell, too.
    "nemo_gym": (
        "_ng_attempt_index", "_ng_failure_terminal", "agent_ref.type", "config.*", "details.*", "eval_timed_out",
        "failure_reason", "info.steps", "patch_exists", "instance_config.*",
        "metadata.agent_*", "metadata.config.*", "metadata.environment_setup.*",
        "metadata.eval_report.*.patch_*", "metadata.eval_report.*.tests_status.*",
        *(f"{whose}.{name}" for whose in ("response", "responses_create_params") for name in _RESPONSES_SETTINGS),
        "response.created_at", "response.error", "response.id", "response.input_messages", "response.instructions",
        "response.metadata", "response.object", "response.output.*.content.*.annotations",
        "response.output.*.content.*.logprobs", "response.output.*.content.*.type",
        "response.output.*.encrypted_content", "response.output.*.generation_log_probs.*",
        "response.output.*.generation_token_ids.*", "response.output.*.id", "response.output.*.prompt_token_ids*",
        "response.output.*.routed_experts", "response.output.*.status", "response.output.*.summary.*.type",
        "response.output_messages", "response.tools*", "response.usage.total_tokens",
        "responses_create_params.tools.*.description", "responses_create_params.tools.*.parameters*",
        "responses_create_params.tools.*.type", "result.reward_info.*", "task.description.*",
        "task.evaluation_criteria.*", "task.initial_state*", "task.user_scenario.*", "terminated",
    ),
    "nemo_rl": ("idx", "input_lengths.*", "sample_loss_mask.*", "token_ids.*"),
    # Display settings, the shell's surroundings, costs and token counts of single calls where a total stands beside,
    # secrets; the task, which the first message tells; schemas of tools; arguments that stand in the model's own call.
    "openhands": (
        "args.*", "*.agent_class", "*.file_urls", "history.*.args.cwd", "history.*.args.file_text",
        "history.*.args.insert_line", "history.*.args.is_static", "history.*.args.query", "history.*.args.recall_type",
        "history.*.args.view_range*", "*.args.tools.*.function.description", "*.args.tools.*.function.parameters*",
        "*.args.tools.*.type", "instance.*", "instruction", "*api_key",
        "*aws_*_key*", "history.*.images_urls", "history.*.kernel_init_code", "history.*.llm_metrics.*",
        "metrics.accumulated_token_usage.model", "metrics.accumulated_token_usage.response_id", "metrics.condenser",
        "extras", "extras.*", "*.extras", "*.extras.*", "*.args.blocking", "*.args.confirmation_state",
        "*.args.hidden", "*.args.start", "*.message", "*.observation", "*.success", "*.action_risk", "*.command_id",
        "*.id", "*.image_urls", "*.is_confirmed", "*.keep_prompt", "*.wait_for_response", "base_commit",
        "comment_success", "issue.*", "issue_type", "message", "metrics.accumulated_token_usage.cache_write_tokens",
        "metrics.costs*", "metrics.response_latencies*", "metrics.token_usages.*", "result_explanation",
        "*tool_call_metadata.*", *_OPENHANDS_CALL,
    ),
    # The same of events alone and in rows; the task, which the first message tells; secrets, lists among the settings.
    "openhands_sdk": (
        *_OPENHANDS_SDK_EVENT, *(f"history.*.{name}" for name in _OPENHANDS_SDK_EVENT),
        "*api_key", "agent.include_default_tools.*", "confirmation_policy.kind", "critic_result", "head_is_empty",
        "instance", "instruction", "invoked_skills", "last_user_message_id", "leaf_event_id", "metrics*",
        "persistence_dir", "responses_reasoning_item", "runtime_runs", "secret_registry.*", "stats.*",
        "stuck_detection", "tags", "test_result", "value.usage_to_metrics.*", "workspace.*",
    ),
    # The resource, names and ids of spans: their order and the ids of calls tell what belongs together.
    "otel": (
        "resourceSpans.*.resource.*", "resourceSpans.*.scopeSpans.*.scope.*", "resourceSpans.*.events.*.timeUnixNano",
        "resourceSpans.*.flags", "resourceSpans.*.kind", "resourceSpans.*.name", "resourceSpans.*panId",
        "resourceSpans.*.status", "resourceSpans.*.status.message",
    ),
    "predictions": ("*.model_patch", "*.model_name_or_path", "*full_output", "*model_stats*", "*cost"),
    # The environment, which tells the task where `ds` does not; what the tests printed, of which the reward is made.
    "r2e_gym": (
        "docker_image", "env_args", "max_steps_absolute", "max_token_limit", "reward_calc_time", "test_output",
        "trajectory_steps.*.done", "trajectory_steps.*.info", "trajectory_steps.*.llm_exec_time",
        "trajectory_steps.*.step_count", "trajectory_steps.*.step_idx", "trajectory_steps.*.token_usage_total",
        "trajectory_steps.*.total_time_traj",
    ),
    # Each step repeats the conversation so far; ids of tokens; what the trajectory's last step says again.
    "rllm": (
        "artifacts", "eval_idx", "info", "metadata", "metadata.error.message", "session_id", "task.instruction",
        "task.metadata", "timing", "trajectories.*.info", "trajectories.*.input", "trajectories.*.metadata",
        "trajectories.*.output", "trajectories.*.task", "trajectories.*.timing", "trajectories.*.steps.*",
    ),
    # The data set and the answer it expects; what else it says of a task has its own names.
    "skyrl": ("data_source", "env_extras.data_source", "env_extras.reward_spec.*"),
    "roll": ("ground_truth.*", "sampling_params.*", "tag.*"),
    "swe_agent": (
        "*environment", "*history.*", "*.query.*", "trajectory.*.messages.*", "*info.edited_files*", "*info.review.*",
        "*info.swe_agent_hash", "*info.swe_rex_*", "info.model_stats.total_cost", "info.rloop_model_stats.*",
        "*trajectory.*.extra_info", "*trajectory.*.state*", "*trajectory.*.thought",
    ),
    # Read only where there is no verdict.
    "swebench_report": ("*tests_status*", "*patch_is_None", "*patch_exists", "*patch_successfully_applied"),
    # The simulated user's own costs; places of messages, which stand in order.
    "tau2": (
        "*end_time", "*messages.*.requestor", "*messages.*.tool_calls", "*messages.*.turn_idx", "mode", "reward_info",
        "*reward_info.reward_basis.*", "*seed", "*timestamp", "*user_cost", "tasks", "ticks.*.role", "ticks.*.tick_id",
    ),
    "terminal_bench": (
        "id", "instruction", "model", "parser_results*", "recording_path", "test_*_at", "trial_*_at",
    ),
    "tinker": ("idx", "logs", "turns.*.metadata"),
    # Where the trainer stands, which the rows of its history tell; search of hyperparameters; states of callbacks.
    "trainer_state": (
        "best_*", "epoch", "global_step", "is_*", "num_input_tokens_seen", "stateful_callbacks*", "total_flos",
        "trial_name", "trial_params*",
    ),
    # Named, not joined.
    "trainer_sidecars": ("*",),
    "trl": ("completion.*.name", "completion.*.tool_calls.*.type"),
    # Metrics flattened to the top stand in `metrics`, too; clocks of the phases beside their durations. Where the first
    # of several ways to tell a thing is there, the others are not read: task, run and its kind, why it ended. One side
    # of a ratio, which a trainer's annotation makes whole; the graph, whose nodes stand in order; schemas of tools,
    # the task's data and hardware, what the harness and the provider keep for themselves.
    "verifiers": (
        "answer", "answer_reward", "correct", "format", "tool_reward", "*agent.config.runtime.allow.*",
        "*agent.runtime", "*calls.*.acp", "*calls.*.endpoint", "*calls.*.error", "*calls.*.policy",
        "*calls.*.sampling", "*calls.*.time.*", "completion.*.name", "completion.*.tool_call_id",
        "completion.*.tool_calls.*.type", "env.*", "error.error_chain_*", "*error_chain", "*errors.*.message",
        "*errors.*.traceback", "*errors.*.type", "*extra_usage", "info", "traces.*.info", "*is_completed",
        "*mm_token_type_id_map", "*nodes.*.entropies", "*nodes.*.is_content", "nodes.*.logprobs*",
        "*nodes.*.loss_weights", "*nodes.*.message.name", "*nodes.*.message.provider_state",
        "*nodes.*.message.tool_calls.*.namespace", "*nodes.*.message.tool_calls.*.type", "*nodes.*.parent",
        "*nodes.*.semantic_parents", "*nodes.*.token_ids.*", "*num_output_tokens", "ok", "traces.*.ok",
        "*request_rewrites", "*response_rewrites", "*root_reply", "run.id", "run.type", "*task.data.*", "task.hash",
        "*task.type", "*timing.*", "*tool_defs.*.description", "*tool_defs.*.parameters*", "*tools.*.description",
        "*tools.*.namespace", "*tools.*.parameters*", "*tools.*.strict", "*tools.*.type", "*version",
        "verifiers.commit",
    ),
    # What the reward function extracted and counted, as text, and what it was held against; messages, not turns.
    "verl": ("gts*", "has_answer", "i", "num_turns", "pred"),
}  # fmt: skip
