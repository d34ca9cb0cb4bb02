//! Converts command-line options to settings, which override the settings in an agent's files.

use spillgate_agent_files::{Models, Names, Output, OutputFormat, Settings, ToolOutput};

use crate::agent_args::AgentRun;

/// Converts options to settings.
pub(super) fn settings(run: &AgentRun) -> Settings {
    let models = run.model.iter().flat_map(|models| models.0.iter().cloned());
    let models: Vec<_> = models.collect();
    let (limits, report) = (&run.limits, &run.report);
    // A schema implies JSON.
    let format = report.output.map(OutputFormat::from);
    let format = format.or(report.schema.as_ref().map(|_| OutputFormat::Json));
    let output = Output {
        format,
        schema_ref: report.schema.clone(),
        ..Output::default()
    };
    let tool_output = ToolOutput {
        enabled: run.no_tool_output.then_some(false),
        store_dir: run.store_dir.clone(),
        ..ToolOutput::default()
    };
    Settings {
        models: Some(Models(models)).filter(|models| !models.0.is_empty()),
        tools: run.tools.clone().map(Names),
        max_turns: limits.max_turns,
        max_tool_calls_per_turn: limits.max_tool_calls_per_turn,
        max_output_tokens: limits.max_output_tokens,
        context_window: limits.context_window,
        tool_response_max_bytes: limits.tool_response_max_bytes,
        timeout: limits.timeout,
        max_requests: limits.max_requests,
        max_total_tokens: limits.max_total_tokens,
        max_cost: limits.max_cost,
        max_depth: limits.max_depth,
        output: Some(output).filter(|output| *output != Output::default()),
        tool_output: Some(tool_output).filter(|of| *of != ToolOutput::default()),
        ..Settings::default()
    }
}
